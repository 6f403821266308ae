/* What the programs about reads share: calls that no library sees, every form of read,
   and the library's own counts, which tell whether it was there and what it served. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DIE(...) do { dprintf(2, __VA_ARGS__); dprintf(2, " (errno %d)\n", errno); _exit(1); } while (0)
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* A system call by an instruction of our own: a result, or a negative errno. */
static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall" : "=a"(r) : "0"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return r;
}
#define RAW(n, a, b, c, d, e, f) raw6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* struct ownpool_stats */
struct counts {
    uint64_t threads_moved, kernel_calls, kernel_bytes, private_calls, private_bytes;
    uint64_t would_threads, would_calls, would_bytes, refills, reseeds;
};

static inline int hooked(void) {
    return dlsym(RTLD_DEFAULT, "ownpool_stats") != NULL;
}

/* All zero without the library. */
static inline struct counts counts(void) {
    static int (*stats)(struct counts *, size_t);
    struct counts now = {0};
    if (!stats) stats = (int (*)(struct counts *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    if (stats && stats(&now, sizeof now)) DIE("ownpool_stats");
    return now;
}

/* Whether a heavy caller is to be served. */
static inline int serving(void) {
    const char *mode = getenv("OWNPOOL_MODE");
    return hooked() && !(mode && (!strcmp(mode, "off") || !strcmp(mode, "observe")));
}

/* What _FORTIFY_SOURCE calls; no header declares them without it. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
extern int __open_2(const char *, int), __open64_2(const char *, int);
extern int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);

/* Every form of read under one type. Forms of vectors split the length in three. */
static inline int split(struct iovec v[3], void *dest, size_t len) {
    size_t first = len / 3, second = len / 4;
    v[0] = (struct iovec){dest, first};
    v[1] = (struct iovec){(char *)dest + first, second};
    v[2] = (struct iovec){(char *)dest + first + second, len - first - second};
    return 3;
}
static ssize_t by_read(int fd, void *p, size_t n, off_t o) { (void)o; return read(fd, p, n); }
static ssize_t by_read_chk(int fd, void *p, size_t n, off_t o) { (void)o; return __read_chk(fd, p, n, n); }
static ssize_t by_pread(int fd, void *p, size_t n, off_t o) { return pread(fd, p, n, o); }
static ssize_t by_pread64(int fd, void *p, size_t n, off_t o) { return pread64(fd, p, n, o); }
static ssize_t by_pread_chk(int fd, void *p, size_t n, off_t o) { return __pread_chk(fd, p, n, o, n); }
static ssize_t by_pread64_chk(int fd, void *p, size_t n, off_t o) { return __pread64_chk(fd, p, n, o, -1); }
static ssize_t by_readv(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; (void)o; return readv(fd, v, split(v, p, n)); }
static ssize_t by_preadv(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; return preadv(fd, v, split(v, p, n), o); }
static ssize_t by_preadv64(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; return preadv64(fd, v, split(v, p, n), o); }
static ssize_t by_preadv2(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; return preadv2(fd, v, split(v, p, n), o, 0); }
static ssize_t by_preadv64v2(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; return preadv64v2(fd, v, split(v, p, n), o, 0); }
static ssize_t by_preadv2_here(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; (void)o; return preadv2(fd, v, split(v, p, n), -1, 0); }

/* The same request, asked of the kernel itself. */
static long raw_read(int fd, void *p, size_t n, off_t o) { (void)o; return RAW(SYS_read, fd, p, n, 0, 0, 0); }
static long raw_pread(int fd, void *p, size_t n, off_t o) { return RAW(SYS_pread64, fd, p, n, o, 0, 0); }
static long raw_readv(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; (void)o; split(v, p, n); return RAW(SYS_readv, fd, v, 3, 0, 0, 0); }
static long raw_preadv(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; split(v, p, n); return RAW(SYS_preadv, fd, v, 3, o, 0, 0); }
static long raw_preadv2(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; split(v, p, n); return RAW(SYS_preadv2, fd, v, 3, o, 0, 0); }
static long raw_preadv2_here(int fd, void *p, size_t n, off_t o) { struct iovec v[3]; (void)o; split(v, p, n); return RAW(SYS_preadv2, fd, v, 3, -1, -1, 0); }

static const struct form {
    const char *name;
    ssize_t (*call)(int, void *, size_t, off_t);
    long (*kernel)(int, void *, size_t, off_t);
    int vectors;
} forms[] = {
    {"read", by_read, raw_read, 0},
    {"__read_chk", by_read_chk, raw_read, 0},
    {"pread", by_pread, raw_pread, 0},
    {"pread64", by_pread64, raw_pread, 0},
    {"__pread_chk", by_pread_chk, raw_pread, 0},
    {"__pread64_chk", by_pread64_chk, raw_pread, 0},
    {"readv", by_readv, raw_readv, 1},
    {"preadv", by_preadv, raw_preadv, 1},
    {"preadv64", by_preadv64, raw_preadv, 1},
    {"preadv2", by_preadv2, raw_preadv2, 1},
    {"preadv64v2", by_preadv64v2, raw_preadv2, 1},
    {"preadv2 at -1", by_preadv2_here, raw_preadv2_here, 1},
};

/* Random or not: of 64 random bytes, more than 16 are one given value with odds below
   2^-85 (64 over 17, times 256^-17), so that a million checks stay below 2^-64. */
static inline int is_random(const void *bytes, int not_this) {
    const unsigned char *at = bytes;
    int zeros = 0, same = 0;
    for (int i = 0; i < 64; i++) zeros += at[i] == 0, same += at[i] == not_this;
    return zeros <= 16 && same <= 16;
}

/* Whether a filter was in force when the program started: then only fstat asks, and a
   bad pointer is not seen beforehand. */
static inline int filtered(void) {
    char status[4096] = "";
    int fd = RAW(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY, 0, 0, 0);
    long got = RAW(SYS_read, fd, status, sizeof status - 1, 0, 0, 0);
    RAW(SYS_close, fd, 0, 0, 0, 0, 0);
    return got <= 0 || !strstr(status, "\nSeccomp:\t0");
}
