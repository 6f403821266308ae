/* Settles: odd arguments to every entry of the getrandom family give the same
 * returns, lengths, errno and exit status with the library and without it, on a
 * thread that was moved before. Prints a transcript; never a random byte. */
#include "proof.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/select.h>

/* One call: its result and errno, which a success must leave at 77. */
#define SHOW(call) \
    do { \
        errno = 77; \
        long long result_ = (long long)(call); \
        printf("%s = %lld errno %d\n", #call, result_, errno); \
    } while (0)

static void *const low[] = {NULL, (void *)1, (void *)4096, (void *)0xffff};
static void *const high[] = {(void *)0x7fffffffffff, (void *)0x800000000000, (void *)-4096, (void *)-1};
static const unsigned flags[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 0x100, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff};
static char room[4096];

static void arguments(void)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        printf("flags %x\n", flags[i]);
        SHOW(getrandom(room, 16, flags[i]));
        SHOW(getrandom(room, 0, flags[i]));
        SHOW(getrandom(NULL, 16, flags[i]));
        SHOW(syscall(SYS_getrandom, room, 16, flags[i]));
        SHOW(syscall(SYS_getrandom, room, 4000, flags[i]));
        /* Flags are 32 bits: the kernel does not look at the upper half. */
        SHOW(syscall(SYS_getrandom, room, 16L, (long)flags[i] | 0x500000000));
    }
    SHOW(syscall(SYS_getrandom, room, 16L, 0x100000000));
    for (int i = 0; i < 4; i++) {
        printf("pointers %d\n", i);
        for (int len = 0; len < 600; len = 2 * len + 1) {
            SHOW(getrandom(low[i], len, 0));
            SHOW(getrandom(high[i], len, 0));
            SHOW(getentropy(low[i], len));
            SHOW(getentropy(high[i], len));
            SHOW(syscall(SYS_getrandom, low[i], len, 0));
            SHOW(syscall(SYS_getrandom, high[i], len, 0));
        }
        SHOW(getrandom(low[i], 100000, 0));
        SHOW(getrandom(high[i], 100000, 0));
        SHOW(getrandom(low[i], SIZE_MAX, 0));
        SHOW(getrandom(low[i], (size_t)1 << 31, 0));
        SHOW(getrandom(high[i], (size_t)1 << 63, 0));
    }
    SHOW(getrandom(room, 0, 0));
    for (int len = 0; len < 260; len += 5)
        SHOW(getentropy(room, len));
    SHOW(getentropy(room, 256));
    SHOW(getentropy(room, 257));
    SHOW(getentropy(room, SIZE_MAX));
    SHOW(getentropy(NULL, 257));
}

/* Every length from 0 to 1,100 at odd addresses: exactly those bytes are written.
 * Each length is drawn until every byte has been other than zero; a byte is zero
 * 40 times running with 2^-320. */
static ssize_t draw(int entry, void *dest, size_t len)
{
    switch (entry) {
    case 0: return getrandom(dest, len, 0);
    case 1: return syscall(SYS_getrandom, dest, len, 0L);
    case 2: return getentropy(dest, len) == 0 ? (ssize_t)len : -1;
    default: arc4random_buf(dest, len); return len;
    }
}

static void lengths(void)
{
    static unsigned char place[1100 + 200], seen[1100];
    for (int entry = 0; entry < 4; entry++)
        for (size_t len = 0; len <= (entry == 2 ? 256u : 1100u); len++) {
            unsigned char *dest = place + 64 + (len * 7 + 1) % 64;
            size_t missing = len;
            memset(seen, 0, len);
            for (int again = 0; again < 40 && (missing || again == 0); again++) {
                memset(place, 0xa5, sizeof place);
                memset(dest, 0, len);
                errno = 77;
                CHECK(draw(entry, dest, len) == (ssize_t)len && errno == 77);
                for (unsigned char *at = place; at < place + sizeof place; at++)
                    if (at < dest || at >= dest + len)
                        CHECK(*at == 0xa5);
                missing = 0;
                for (size_t at = 0; at < len; at++)
                    missing += !(seen[at] |= dest[at] != 0);
            }
            CHECK(missing == 0);
        }
    puts("lengths ok");
}

static void integers(void)
{
    for (uint32_t bound = 0; bound < 2; bound++)
        SHOW(arc4random_uniform(bound));
    static const uint32_t bounds[] = {2, 3, 10, 256, 1000003, 1u << 31, (1u << 31) + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        uint32_t lowest = UINT32_MAX, highest = 0;
        for (int call = 0; call < 2000; call++) {
            uint32_t got = arc4random_uniform(bounds[i]);
            CHECK(got < bounds[i]);
            lowest = got < lowest ? got : lowest;
            highest = got > highest ? got : highest;
        }
        /* Each half is missed with 2^-2000 (a third with less than 2^-1100). */
        CHECK(lowest <= bounds[i] / 3 && highest >= bounds[i] / 3);
    }
    uint32_t all = 0, none = UINT32_MAX;
    for (int call = 0; call < 200; call++) {
        uint32_t got = arc4random();
        all |= got;
        none &= got;
    }
    CHECK(all == UINT32_MAX && none == 0); /* 64 bits, each stuck with 2^-199 */
    SHOW((arc4random_buf(room, 0), 0));
    SHOW((arc4random_buf(NULL, 0), 0));
    SHOW((arc4random_buf(room, sizeof room), 0));
    puts("integers ok");
}

/* Every argument of syscall() arrives, in its place, for other numbers. */
static void other_calls(void)
{
    int fd = memfd_create("pages", 0);
    CHECK(fd >= 0 && ftruncate(fd, 8192) == 0 && pwrite(fd, "second", 6, 4096) == 6);
    /* The sixth argument is the offset, the fifth the descriptor. */
    char *page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)fd, 4096L);
    printf("mmap shows %.6s\n", page);
    SHOW(syscall(SYS_munmap, page, 4096L));
    SHOW(syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)fd, 1L));

    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    sigset_t none;
    sigemptyset(&none);
    struct { const sigset_t *set; size_t len; } mask = {&none, 8}, bad = {&none, 7};
    struct timespec soon = {0, 1000};
    SHOW(syscall(SYS_pselect6, (long)ends[0] + 1, &readable, NULL, NULL, &soon, &mask));
    /* A mask of the wrong length, which only the sixth argument tells. */
    SHOW(syscall(SYS_pselect6, (long)ends[0] + 1, &readable, NULL, NULL, &soon, &bad));
    SHOW(syscall(SYS_getpid) == getpid());
    SHOW(syscall(SYS_read, (long)ends[0], room, 1L));
    SHOW(syscall(-1L));
    SHOW(syscall(100000L));
    SHOW(syscall(SYS_close, -1L));
    SHOW(syscall(SYS_lseek, (long)fd, -1L, (long)SEEK_SET));
    SHOW(syscall(SYS_prctl, 0x7fffL, 0L, 0L, 0L, 0L));
    SHOW(syscall(SYS_seccomp, 0x7fffL, 0L, NULL));
}

/* A raw clone onto a new stack: the child returns from syscall() by what lies on
 * that stack, so nothing in between may have kept its own return address on the old. */
static void on_new_stack(void)
{
    char block[16];
    int good = getrandom(block, sizeof block, 0) == sizeof block;
    _exit(good ? 43 : 1);
}

static void clones(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    void **top = (void **)(stack + sizeof stack) - 2;
    top[0] = (void *)on_new_stack;
    static const long kinds[] = {SIGCHLD, SIGCHLD | 0x100 | 0x4000 /* CLONE_VM | CLONE_VFORK */};
    for (int kind = 0; kind < 2; kind++) {
        long child = syscall(SYS_clone, kinds[kind], top, NULL, NULL, NULL);
        CHECK(child > 0);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        printf("clone %d: status %x\n", kind, status);
    }
}

int main(void)
{
    prove();
    setvbuf(stdout, NULL, _IOFBF, 1 << 20);
    draw_heavily();
    if (hooked() && getenv("MOVED"))
        CHECK(counts().threads_moved == 1 && counts().private_calls > 100);
    arguments();
    lengths();
    integers();
    other_calls();
    clones();
    return fflush(stdout) == 0 ? 42 : 1;
}
