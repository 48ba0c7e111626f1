/* A gateway in C: the ABI by hand, without the SDK.
 *
 * Build it in this folder:
 *   cc -std=c11 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -o libgateway_c.so gateway.c
 *
 * collect: POST {url}/charges/{reference} with the amount; query: GET the same address. The provider answers with one word:
 * "paid", "waiting" or "refused". Anything else is a fault, and a fault never means declined: the engine knows what left. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C surface, whole. */
typedef struct { const uint8_t *ptr; size_t len; } gw_bytes;
typedef struct { void *ctx; void (*put)(void *ctx, gw_bytes part); } gw_sink;
enum { GW_READY = 0, GW_PENDING = 1, GW_FAILED = 2 };
typedef struct {
  uint32_t abi_major;
  uint32_t size;
  int32_t (*begin)(gw_bytes message, gw_sink answer, void **call);
  int32_t (*resume)(void *call, gw_bytes message, gw_sink answer);
  void (*end)(void *call);
} gw_plugin_v1;

/* The manifest, in its section. */
__asm__(".pushsection .gateway,\"a\"\n.incbin \"gateway.json\"\n.popsection");

/* What one call remembers between its two steps: nothing is global. */
typedef struct { char minor[24]; char currency[8]; char reference[40]; } call_t;

static void say(gw_sink answer, const char *text) {
  gw_bytes part = { (const uint8_t *)text, strlen(text) };
  answer.put(answer.ctx, part);
}

static int32_t fault(gw_sink answer, const char *kind, const char *message) {
  char text[256];
  snprintf(text, sizeof text, "{\"fault\":{\"kind\":\"%s\",\"message\":\"%s\"}}", kind, message);
  say(answer, text);
  return GW_FAILED;
}

/* Copies the value that follows "key": as it is written, without quotes. A tiny scan for messages whose fields we know: values
 * with escapes in them are refused instead of decoded. 0 when there is none, or it does not fit. */
static int value(const char *text, const char *key, char *to, size_t size) {
  char pattern[40];
  snprintf(pattern, sizeof pattern, "\"%s\":", key);
  const char *at = strstr(text, pattern);
  if (!at) return 0;
  at += strlen(pattern);
  int quoted = *at == '"';
  at += quoted;
  size_t length = strcspn(at, quoted ? "\"\\" : ",}]");
  if (length == 0 || length >= size || (quoted && at[length] != '"')) return 0;
  memcpy(to, at, length);
  to[length] = 0;
  return 1;
}

static int32_t begin(gw_bytes message, gw_sink answer, void **call) {
  char *text = calloc(1, message.len + 1);
  call_t *mine = calloc(1, sizeof *mine);
  char op[16], url[200], out[700];
  int32_t code;
  *call = NULL;
  if (!text || !mine) {
    free(text);
    free(mine);
    return fault(answer, "message", "out of memory");
  }
  memcpy(text, message.ptr, message.len);
  /* The configuration and the input come under their own keys: looked for there, so that no other field is taken for them. */
  const char *config = strstr(text, "\"config\":"), *input = strstr(text, "\"input\":");
  if (!config || !value(config, "url", url, sizeof url)) {
    code = fault(answer, "config", "the configuration has no url, or one that is too long");
  } else if (!input || !value(text, "op", op, sizeof op) || !value(input, "minor", mine->minor, sizeof mine->minor) ||
             !value(input, "currency", mine->currency, sizeof mine->currency) ||
             !value(input, "reference", mine->reference, sizeof mine->reference)) {
    code = fault(answer, "message", "the input lacks reference or amount");
  } else {
    int collects = strcmp(op, "collect") == 0;
    int length = snprintf(out, sizeof out,
        "{\"do\":[{\"id\":1,\"http\":{\"method\":\"%s\",\"url\":\"%s/charges/%s\",\"timeout_ms\":20000,\"mutates\":%s,"
        "\"headers\":[[\"content-type\",\"text/plain\"]]%s%s%s%s%s}}]}",
        collects ? "POST" : "GET", url, mine->reference, collects ? "true" : "false",
        collects ? ",\"body\":{\"text\":\"" : "", collects ? mine->minor : "", collects ? " " : "",
        collects ? mine->currency : "", collects ? "\"}" : "");
    if (length < 0 || (size_t)length >= sizeof out) {
      code = fault(answer, "message", "the request is too long");
    } else {
      say(answer, out);
      *call = mine;
      mine = NULL;
      code = GW_PENDING;
    }
  }
  free(mine);
  free(text);
  return code;
}

static int32_t resume(void *call, gw_bytes message, gw_sink answer) {
  call_t *mine = call;
  char word[16] = "", out[300];
  char *text = calloc(1, message.len + 1);
  int32_t code = GW_READY;
  if (!text) return fault(answer, "message", "out of memory");
  memcpy(text, message.ptr, message.len);
  const char *body = strstr(text, "\"body\":");
  if (!strstr(text, "\"http\":") || !strstr(text, "\"status\":200") || !body || !value(body, "text", word, sizeof word)) {
    code = fault(answer, "provider", "the provider did not answer 200 with a word");
  } else if (strcmp(word, "paid") == 0) {
    snprintf(out, sizeof out,
        "{\"outcome\":{\"succeeded\":{\"provider_id\":\"%s\",\"amount\":{\"currency\":\"%s\",\"minor\":%s}}}}",
        mine->reference, mine->currency, mine->minor);
    say(answer, out);
  } else if (strcmp(word, "waiting") == 0) {
    say(answer, "{\"outcome\":{\"pending\":{\"poll_after\":5}}}");
  } else if (strcmp(word, "refused") == 0) {
    say(answer, "{\"outcome\":{\"declined\":{\"reason\":\"payer_declined\",\"provider_code\":\"refused\"}}}");
  } else {
    code = fault(answer, "provider", "the provider said a word that this gateway does not know");
  }
  free(text);
  return code;
}

static void end(void *call) { free(call); }

__attribute__((visibility("default"))) const gw_plugin_v1 gateway_plugin_v1 = {
  .abi_major = 1, .size = sizeof(gw_plugin_v1), .begin = begin, .resume = resume, .end = end,
};
