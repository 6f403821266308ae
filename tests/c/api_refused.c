/* Kernels that refuse or make wait, by seccomp. The first argument is what is refused,
 * the second who is asked, the third when the filter comes: "inherited" (before exec),
 * "own" (the program's own, before it has drawn), "moved" (after it has drawn; a reseed
 * is asked for, so that the generator must go to the kernel). */
#include "api.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_NOT(number, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, skip)
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, what)

static int filter(const char *what) {
    unsigned gone = SECCOMP_RET_ERRNO | ENOSYS, denied = SECCOMP_RET_ERRNO | EPERM;
    unsigned opens = strcmp(what, "both") == 0 ? denied : SECCOMP_RET_ALLOW;
    unsigned draws = strcmp(what, "unseeded") == 0 ? SECCOMP_RET_USER_NOTIF : gone;
    struct sock_filter program[] = {
        LOAD(nr),
        IF_NOT(SYS_getrandom, 1), GIVE(draws),
        IF_NOT(SYS_open, 1),      GIVE(opens),
        IF_NOT(SYS_openat, 1),    GIVE(opens),
        IF_NOT(437 /* openat2 */, 1), GIVE(opens),
        GIVE(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog whole = {sizeof program / sizeof *program, program};
    unsigned flags = draws == SECCOMP_RET_USER_NOTIF ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &whole);
    CHECK(fd >= 0);
    return fd;
}

/* Answers as a kernel that is not seeded yet: EAGAIN to those who will not wait; the
 * others wait for 300 ms, are interrupted once, and are then let through. */
static void supervise(int listener) {
    struct timespec a_while = {0, 300000000};
    CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0);
    /* 0: none yet; 1: one was interrupted; 2: one has waited. */
    for (int waiting = 0;;) {
        struct seccomp_notif asked;
        struct seccomp_notif_resp answer;
        memset(&asked, 0, sizeof asked);
        memset(&answer, 0, sizeof answer);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) _exit(0);
        answer.id = asked.id;
        if (asked.data.args[2] & 1) {
            answer.error = -EAGAIN;
        } else if (waiting == 0) {
            waiting = 1;
            answer.error = -EINTR;
        } else {
            if (waiting == 1) nanosleep(&a_while, NULL);
            waiting = 2;
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        }
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void ask(const char *who) {
    unsigned char bytes[32] = {0};
    static const unsigned char zeros[32] = {0};
    uint64_t a = 0, b = 0;
    if (strcmp(who, "u32") == 0) {
        for (int i = 0; i < 4; i++) {
            a = a << 16 ^ ownpool_u32();
            b = b << 16 ^ ownpool_u32();
        }
    } else if (strcmp(who, "u64") == 0) {
        a = ownpool_u64();
        b = ownpool_u64();
    } else if (strcmp(who, "uniform") == 0) {
        a = (uint64_t)ownpool_uniform(0xffffffffu) << 32 | ownpool_uniform(0xffffffffu);
        b = (uint64_t)ownpool_uniform(0xffffffffu) << 32 | ownpool_uniform(0xffffffffu);
    } else if (strcmp(who, "fill") == 0) {
        errno = 0;
        int done = ownpool_fill(bytes, sizeof bytes);
        printf("fill %d errno %d %s\n", done, errno, memcmp(bytes, zeros, 32) ? "bytes" : "none");
        return;
    } else {
        CHECK(strcmp(who, "getrandom") == 0);
        errno = 0;
        ssize_t done = ownpool_getrandom(bytes, sizeof bytes, 0);
        printf("getrandom %zd errno %d %s\n", done, errno, memcmp(bytes, zeros, 32) ? "bytes" : "none");
        return;
    }
    /* Equal by chance: 2^-64 and less; the caller repeats this a few dozen times. */
    CHECK(a != b && a != 0 && b != 0);
    printf("%s drew\n", who);
}

int main(int argc, char **argv) {
    CHECK(argc == 4 || argc == 5);
    const char *what = argv[1], *who = argv[2], *when = argv[3];
    if (argc == 4 && strcmp(when, "moved") == 0) {
        for (int i = 0; i < 1000; i++) (void)ownpool_u64();
        CHECK(counts().private_calls > 900);
    }
    if (argc == 4) {
        int listener = filter(what);
        if (strcmp(what, "unseeded") == 0) {
            pid_t supervisor = fork();
            CHECK(supervisor >= 0);
            if (supervisor == 0) supervise(listener);
        }
        if (strcmp(when, "inherited") == 0) {
            execl("/proc/self/exe", argv[0], what, who, when, "again", (char *)NULL);
            _exit(4);
        }
    }
    if (strcmp(when, "moved") == 0) ownpool_reseed();
    double start = now();
    ask(who);
    if (strcmp(what, "unseeded") == 0) printf("waited %d\n", now() - start >= 0.29);
    return 0;
}
