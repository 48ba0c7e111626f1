/* A gateway that talks nonsense, a kind of it by number; from 11 to 19 nonsense that shows when it is loaded. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
typedef struct { const uint8_t *ptr; size_t len; } gw_bytes;
typedef struct { void *ctx; void (*put)(void *ctx, gw_bytes part); } gw_sink;
typedef struct {
  uint32_t abi_major;
  uint32_t size;
  int32_t (*begin)(gw_bytes message, gw_sink answer, void **call);
  int32_t (*resume)(void *call, gw_bytes message, gw_sink answer);
  void (*end)(void *call);
} gw_plugin_v1;
__asm__(".pushsection .gateway,\"a\"\n.incbin \"gateway.json\"\n.popsection");
static int dummy, is_read;
#if KIND == 20
__attribute__((constructor)) static void look(void) { is_read = open(KEPT, O_RDONLY) >= 0; }
#endif
static const uint8_t zeros[65536];
static void say(gw_sink answer, const char *text) {
  gw_bytes part = { (const uint8_t *)text, strlen(text) };
  answer.put(answer.ctx, part);
}
static int32_t begin(gw_bytes message, gw_sink answer, void **call) {
  *call = KIND == 3 ? NULL : &dummy;
  switch (KIND) {
    case 1: return 77;
    case 2: say(answer, "<html>"); return 0;
    case 3: say(answer, "{\"do\":[]}"); return 1;
    case 4:
      for (int i = 0; i < 100; i++) {
        gw_bytes part = { zeros, sizeof zeros };
        answer.put(answer.ctx, part);
      }
      return 0;
    case 20:
      say(answer, is_read ? "{\"fault\":{\"kind\":\"provider\",\"message\":\"it read the file\"}}"
                          : "{\"fault\":{\"kind\":\"provider\",\"message\":\"it read nothing\"}}");
      return 2;
    default: say(answer, "{\"do\":[]}"); return 1;
  }
}
static int32_t resume(void *call, gw_bytes message, gw_sink answer) { return 2; }
static void end(void *call) { (void)call; }
#if KIND == 13
extern int not_there(void);
int (*there)(void) = not_there;
#endif
#if KIND == 14
__attribute__((constructor)) static void crash(void) { __builtin_trap(); }
#endif
#if KIND >= 15 && KIND < 20
static int parent(void) {
  char status[2048] = { 0 };
  int file = open("/proc/self/status", O_RDONLY);
  int id = 0;
  if (read(file, status, sizeof status - 1) < 0) return 1; /* it cannot know: another process that is always there */
  for (const char *at = strstr(status, "PPid:") + 6; *at >= '0' && *at <= '9'; at++) id = id * 10 + *at - '0';
  return id;
}
static int is_open(void) {
  struct rlimit now;
  switch (KIND) {
    case 15: return prctl(PR_GET_DUMPABLE) != 0;
    case 16: return prctl(PR_SET_DUMPABLE, 1) == 0;
    case 17: return prlimit(parent(), RLIMIT_NOFILE, NULL, &now) == 0;
    case 18: return open(KEPT, O_RDONLY | O_TRUNC) >= 0;
    default: return open(KEPT, O_WRONLY | O_APPEND) >= 0;
  }
}
__attribute__((constructor)) static void look(void) { if (is_open()) __builtin_trap(); }
#endif
__attribute__((visibility("default"))) const gw_plugin_v1 gateway_plugin_v1 = {
  .abi_major = KIND == 11 ? 2 : 1, .size = KIND == 12 ? 16 : sizeof(gw_plugin_v1),
  .begin = begin, .resume = resume, .end = end,
};
