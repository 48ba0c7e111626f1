/* LD_PRELOAD library that logs the writes of a process below one directory, so that a test can
 * simulate the loss of unsynced data.
 *
 * Every call that changes the content of a file below SWITCHYARD_CUT_ROOT is first written to the
 * log SWITCHYARD_CUT_LOG, under one lock that is held during the call as well: the order of the log
 * is the order of the writes. fsync and fdatasync are not executed, only logged at their begin and
 * at their end: data written before the begin is durable at the end. sync_file_range is not logged,
 * because it does not flush the disk's cache.
 *
 * SWITCHYARD_CUT_LYING=fdatasync (or fsync) makes that call guarantee nothing, so that a test can
 * show that it would find a loss. SWITCHYARD_CUT_READ_ONLY names a file; while the file exists, all
 * writes below the directory fail as on a read-only disk.
 *
 * Files are identified by their inode. Names are not tracked: a rename or a removal counts as
 * durable at once. Calls that could change a file without an entry in the log (a shared writable
 * mapping, copy_file_range, sendfile) are logged as not understood, and the test fails on them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static dev_t root_device;
static const char *read_only;
static int fsync_lies, fdatasync_lies;
static int log_file = -1;

/* Inodes of files below the root that were opened for writing. */
#define WATCHED 65536
static ino_t watched[WATCHED];

__attribute__((constructor)) static void start(void) {
    root = getenv("SWITCHYARD_CUT_ROOT");
    const char *log = getenv("SWITCHYARD_CUT_LOG");
    const char *lying = getenv("SWITCHYARD_CUT_LYING");
    struct stat status;
    if (!root || !log || stat(root, &status) != 0) {
        root = NULL;
        return;
    }
    root_length = strlen(root);
    root_device = status.st_dev;
    read_only = getenv("SWITCHYARD_CUT_READ_ONLY");
    fsync_lies = lying && strcmp(lying, "fsync") == 0;
    fdatasync_lies = lying && strcmp(lying, "fdatasync") == 0;
    log_file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (log_file < 0) abort();
}

/* The functions below require the lock. */

static void log_bytes(const void *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = syscall(SYS_write, log_file, bytes, length);
        if (n <= 0) abort();
        bytes = (const char *)bytes + n;
        length -= n;
    }
}

/* One record: kind, inode, offset or new length, and the bytes that follow. */
static void record(char kind, ino_t inode, uint64_t offset, const void *bytes, uint64_t length) {
    char head[25];
    uint64_t numbers[3] = {inode, offset, length};
    head[0] = kind;
    memcpy(head + 1, numbers, sizeof numbers);
    log_bytes(head, sizeof head);
    log_bytes(bytes, length);
}

static ino_t *slot(ino_t inode) {
    size_t at = (inode * 2654435761u) % WATCHED;
    for (size_t tried = 0; tried < WATCHED; tried++, at = (at + 1) % WATCHED)
        if (watched[at] == inode || watched[at] == 0) return &watched[at];
    abort();
}

/* The inode of a watched file, or 0. */
static ino_t watched_inode(int fd) {
    struct stat status;
    if (!root || fd == log_file || fstat(fd, &status) != 0) return 0;
    if (!S_ISREG(status.st_mode) || status.st_dev != root_device) return 0;
    return *slot(status.st_ino) ? status.st_ino : 0;
}

static int is_read_only(void) {
    if (!read_only || syscall(SYS_faccessat, AT_FDCWD, read_only, F_OK) != 0) return 0;
    errno = EROFS;
    return 1;
}

static int is_below_root(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    return length > (ssize_t)root_length && strncmp(path, root, root_length) == 0 &&
           path[root_length] == '/';
}

/* Whether the file is SQLite's shared memory: its connections map it, and discard its content after
 * a crash. */
static int is_shared_memory(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && memcmp(path + length - 4, "-shm", 4) == 0;
}

static int open_watched(int directory, const char *path, int flags, mode_t mode) {
    int writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
    if (!root || !writes) return syscall(SYS_openat, directory, path, flags, mode);
    pthread_mutex_lock(&lock);
    int fd = -1;
    if (strncmp(path, root, root_length) != 0 || !is_read_only()) {
        struct stat before;
        int existed = fstatat(directory, path, &before, 0) == 0;
        fd = syscall(SYS_openat, directory, path, flags, mode);
        struct stat now;
        if (fd >= 0 && is_below_root(fd) && fstat(fd, &now) == 0 && S_ISREG(now.st_mode)) {
            if (!existed) record('C', now.st_ino, 0, path, strlen(path));
            else if (flags & O_TRUNC) record('T', now.st_ino, 0, "", 0);
            *slot(now.st_ino) = now.st_ino;
        }
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

/* Offset of a write without an explicit offset. */
static off_t position(int fd) {
    struct stat status;
    int flags = syscall(SYS_fcntl, fd, F_GETFL, 0);
    if (flags & O_APPEND) return fstat(fd, &status) == 0 ? status.st_size : 0;
    return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static void record_vector(ino_t inode, off_t offset, const struct iovec *vector, int count) {
    for (int i = 0; i < count; i++) {
        record('W', inode, offset, vector[i].iov_base, vector[i].iov_len);
        offset += vector[i].iov_len;
    }
}

/* Runs CALL under the lock, after NOTE when fd is a watched file. */
#define WATCH(fd, NOTE, CALL)                                  \
    do {                                                       \
        pthread_mutex_lock(&lock);                             \
        ino_t inode = watched_inode(fd);                       \
        long result = -1;                                      \
        if (!inode || !is_read_only()) {                       \
            if (inode) { NOTE; }                               \
            result = (CALL);                                   \
        }                                                      \
        int error = errno;                                     \
        pthread_mutex_unlock(&lock);                           \
        errno = error;                                         \
        return result;                                         \
    } while (0)

#define MODE(flags)                                            \
    mode_t mode = 0;                                           \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                     \
        va_list arguments;                                     \
        va_start(arguments, flags);                            \
        mode = va_arg(arguments, mode_t);                      \
        va_end(arguments);                                     \
    }

int open(const char *path, int flags, ...) {
    MODE(flags) return open_watched(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    MODE(flags) return open_watched(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...) {
    MODE(flags) return open_watched(at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...) {
    MODE(flags) return open_watched(at, path, flags, mode);
}
int creat(const char *path, mode_t mode) {
    return open_watched(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    WATCH(fd, record('W', inode, position(fd), bytes, length),
          syscall(SYS_write, fd, bytes, length));
}
ssize_t writev(int fd, const struct iovec *vector, int count) {
    WATCH(fd, record_vector(inode, position(fd), vector, count),
          syscall(SYS_writev, fd, vector, count));
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    WATCH(fd, record('W', inode, offset, bytes, length),
          syscall(SYS_pwrite64, fd, bytes, length, offset));
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    return pwrite(fd, bytes, length, offset);
}
ssize_t pwritev(int fd, const struct iovec *vector, int count, off_t offset) {
    WATCH(fd, record_vector(inode, offset, vector, count),
          syscall(SYS_pwritev, fd, vector, count, offset, 0));
}
ssize_t pwritev64(int fd, const struct iovec *vector, int count, off64_t offset) {
    return pwritev(fd, vector, count, offset);
}

int ftruncate(int fd, off_t length) {
    WATCH(fd, record('T', inode, length, "", 0), syscall(SYS_ftruncate, fd, length));
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

/* Preallocation without a change of content or length has nothing to lose. Other modes are not
 * understood. */
int fallocate(int fd, int mode, off_t offset, off_t length) {
    WATCH(fd, if (mode != FALLOC_FL_KEEP_SIZE) record('X', inode, 0, "fallocate", 9),
          syscall(SYS_fallocate, fd, mode, offset, length));
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
    return fallocate(fd, mode, offset, length);
}
int posix_fallocate(int fd, off_t offset, off_t length) {
    return fallocate(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    return posix_fallocate(fd, offset, length);
}

int truncate(const char *path, off_t length) {
    int fd = open_watched(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    int result = ftruncate(fd, length), error = errno;
    close(fd);
    errno = error;
    return result;
}
int truncate64(const char *path, off64_t length) { return truncate(path, length); }

/* Logs the sync of any file below the root: a directory, or a file written through another
 * descriptor, is synced in the same way as a watched file. */
static int sync_watched(int fd, int lies) {
    static uint64_t syncs;
    struct stat status;
    if (!root || fstat(fd, &status) != 0 || !is_below_root(fd)) return 0;
    pthread_mutex_lock(&lock);
    int fails = is_read_only(), error = errno;
    uint64_t sync = ++syncs;
    if (!fails) record('B', status.st_ino, sync, "", 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    if (fails) return -1;
    /* Duration of a sync on a disk: most kills should fall between a write and the end of its
     * sync. */
    usleep(700);
    pthread_mutex_lock(&lock);
    if (!lies) record('S', status.st_ino, sync, "", 0);
    pthread_mutex_unlock(&lock);
    return 0;
}
int fsync(int fd) { return sync_watched(fd, fsync_lies); }
int fdatasync(int fd) { return sync_watched(fd, fdatasync_lies); }

/* Calls that the log cannot describe. */
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t length,
                        unsigned flags) {
    WATCH(out, record('X', inode, 0, "copy_file_range", 15),
          syscall(SYS_copy_file_range, in, in_at, out, out_at, length, flags));
}
ssize_t sendfile(int out, int in, off_t *at, size_t length) {
    WATCH(out, record('X', inode, 0, "sendfile", 8), syscall(SYS_sendfile, out, in, at, length));
}
ssize_t sendfile64(int out, int in, off64_t *at, size_t length) {
    return sendfile(out, in, at, length);
}
void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    if (root && fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE)) {
        pthread_mutex_lock(&lock);
        ino_t inode = watched_inode(fd);
        if (inode && !is_shared_memory(fd)) record('X', inode, 0, "mmap", 4);
        pthread_mutex_unlock(&lock);
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    return mmap(address, length, protection, flags, fd, offset);
}
