/* A gateway that is as small as one can be, so that what its coming and going costs is not lost beside its own size. Its one operation
 * refuses all credentials. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { const uint8_t *ptr; size_t len; } gw_bytes;
typedef struct { void *ctx; void (*put)(void *ctx, gw_bytes part); } gw_sink;
typedef struct {
  uint32_t abi_major;
  uint32_t size;
  int32_t (*begin)(gw_bytes message, gw_sink answer, void **call);
  int32_t (*resume)(void *call, gw_bytes message, gw_sink answer);
  void (*end)(void *call);
} gw_plugin_v1;

__asm__(".pushsection .gateway,\"a\"\n"
        ".ascii \"{\\\"name\\\":\\\"measured\\\",\\\"version\\\":\\\"1.0.0\\\",\\\"abi\\\":1,\\\"title\\\":\\\"Measured\\\",\"\n"
        ".ascii \"\\\"operations\\\":[\\\"collect\\\",\\\"query\\\",\\\"check_config\\\"],\"\n"
        ".ascii \"\\\"methods\\\":[{\\\"code\\\":\\\"card_usd\\\",\"\n"
        ".ascii \"\\\"direction\\\":\\\"collect\\\",\\\"currency\\\":\\\"USD\\\",\\\"countries\\\":[\\\"World\\\"]}],\"\n"
        ".ascii \"\\\"config\\\":{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{\\\"token\\\":{\\\"type\\\":\\\"string\\\",\"\n"
        ".ascii \"\\\"title\\\":\\\"Token\\\",\\\"writeOnly\\\":true}}}}\"\n"
        ".popsection");

static int32_t begin(gw_bytes message, gw_sink answer, void **call) {
  static const char no[] = "{\"outcome\":{\"refused\":{\"message\":\"As always.\"}}}";
  gw_bytes part = { (const uint8_t *)no, sizeof no - 1 };
  (void)message;
  *call = NULL;
  answer.put(answer.ctx, part);
  return 0;
}

static int32_t resume(void *call, gw_bytes message, gw_sink answer) {
  (void)call;
  (void)message;
  (void)answer;
  return 2;
}

static void end(void *call) { (void)call; }

__attribute__((visibility("default"))) const gw_plugin_v1 gateway_plugin_v1 = {
  .abi_major = 1, .size = sizeof(gw_plugin_v1), .begin = begin, .resume = resume, .end = end,
};
