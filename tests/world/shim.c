/* The machine around one process, which a test changes while it runs: the clock on the wall, the resolver of names, the disk, its sleep.
 *
 * Loaded with LD_PRELOAD. SWITCHYARD_WORLD names a file of four signed 64-bit numbers in the byte order of the machine. It is mapped, so
 * what a test writes into it holds at once:
 *
 *   0  microseconds that are added to what the machine's clock says, as when somebody sets it; the clocks that nobody can set are left
 *      alone, as they are then
 *   8  not 0: no name is found, as when the resolver does not answer
 *  16  microseconds that each flush of a file takes on top, as on a disk that is worn or shared
 *  24  microseconds for which the machine was suspended: the wall's clock and the one that counts since the start have gone on, the one
 *      that stands still meanwhile has not
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct world {
    int64_t offset;
    int64_t names_fail;
    int64_t flush_takes;
    int64_t slept;
};

static volatile const struct world *world;

__attribute__((constructor)) static void map_world(void) {
    const char *path = getenv("SWITCHYARD_WORLD");
    if (!path) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) abort();
    void *mapped = mmap(NULL, sizeof *world, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED) abort();
    world = mapped;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *into) {
    if (syscall(SYS_clock_gettime, clock, into) != 0) return -1;
    int on_the_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (!world || (!on_the_wall && clock != CLOCK_BOOTTIME)) return 0;
    int64_t more = world->slept + (on_the_wall ? world->offset : 0);
    int64_t micros = (int64_t)into->tv_sec * 1000000 + into->tv_nsec / 1000 + more;
    into->tv_sec = micros / 1000000;
    into->tv_nsec = (micros % 1000000) * 1000 + into->tv_nsec % 1000;
    return 0;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}

int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict found) {
    if (world && world->names_fail) return EAI_AGAIN;
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, found);
}

static void wait_for_the_disk(void) {
    if (!world) return;
    int64_t micros = world->flush_takes;
    if (micros <= 0) return;
    struct timespec left = {micros / 1000000, micros % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0) {
    }
}

int fsync(int fd) {
    wait_for_the_disk();
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    wait_for_the_disk();
    return syscall(SYS_fdatasync, fd);
}
