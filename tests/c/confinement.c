/* Programs in sandboxes: each lives on and gets its bytes.

     heavy                      reads and draws heavily, prints how much was served
     confine HOW hot|cold       confines itself, then reads and draws heavily
     under errno|kill NUMBER... puts a filter against these calls in force, then executes
     allow NUMBER...            the same, by a list of what is allowed; PRELOAD_NEXT is
                                preloaded into the program that is executed ("heavy")
     unseen errno NUMBER...     a filter that no library sees, then heavy
     chroot, nofile             no /proc, no further descriptor, then heavy */
#include "reads.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

extern uint32_t arc4random(void) __attribute__((weak)); /* glibc 2.36, or the library */
extern void arc4random_buf(void *, size_t) __attribute__((weak));

static int fd = -1;
static void end(int status) { for (;;) RAW(SYS_exit, status, 0, 0, 0, 0, 0); }
static void print(const char *text) { RAW(SYS_write, 2, text, strlen(text), 0, 0, 0); }
static void wrong(const char *what) { print(what), print("\n"), end(1); }

/* Reads by every length that takes another path; each leaves its neighbours alone. */
static void read_much(int rounds) {
    static __thread unsigned char bytes[65536 + 64], last[64];
    static const size_t lens[] = {1, 4, 16, 64, 1000, 1024, 4096, 65536};
    for (int round = 0; round < rounds; round++)
        for (int l = 0; l < COUNT(lens); l++) {
            memset(bytes, 0, sizeof bytes);
            errno = 77;
            if (read(fd, bytes, lens[l]) != (ssize_t)lens[l]) wrong("a read gives less");
            if (errno != 77) wrong("errno is changed");
            for (int i = 0; i < 64; i++) if (bytes[lens[l] + i]) wrong("a read writes too much");
            if (lens[l] >= 64) {
                if (!is_random(bytes, 0) || !is_random(bytes + lens[l] - 64, 0)) wrong("a read is not random");
                if (!memcmp(bytes, last, 64)) wrong("a read repeats");
                memcpy(last, bytes, 64);
            }
        }
}
static void draw_much(int rounds) {
    static __thread unsigned char bytes[65536], last[64];
    for (int round = 0; round < rounds; round++) {
        static const size_t lens[] = {16, 64, 256, 4096, 65536};
        for (int l = 0; l < COUNT(lens); l++) {
            memset(bytes, 0, lens[l]);
            if (getrandom(bytes, lens[l], 0) != (ssize_t)lens[l]) wrong("getrandom gives less");
            if (lens[l] >= 64 && (!is_random(bytes, 0) || !memcmp(bytes, last, 64))) wrong("getrandom is not random");
            memcpy(last, bytes, 64);
        }
        memset(bytes, 0, 64);
        if (getentropy(bytes, 64) || !is_random(bytes, 0)) wrong("getentropy");
        memset(bytes, 0, 64);
        if (syscall(SYS_getrandom, bytes, 64, 0) != 64 || !is_random(bytes, 0)) wrong("syscall");
        memset(bytes, 0, 64);
        if (arc4random_buf) {
            arc4random_buf(bytes, 64);
            if (!is_random(bytes, 0)) wrong("arc4random_buf");
        }
    }
}

/* ---- filters ---- */

#define NR BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)
static struct sock_filter program[600];
/* Calls of the list get `listed`, all others `rest`. */
static struct sock_fprog filter(char **list, int count, unsigned listed, unsigned rest) {
    int n = 0;
    program[n++] = (struct sock_filter)NR;
    for (int i = 0; i < count; i++) {
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(list[i]), 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, rest);
    return (struct sock_fprog){n, program};
}
static char *numbers_of(const char *text, char **list, int *count) {
    char *copy = strdup(text);
    for (char *word = strtok(copy, ","); word; word = strtok(NULL, ",")) list[(*count)++] = word;
    return copy;
}

/* What remains allowed: what the program itself calls, and no more. */
static struct sock_fprog allow_list(int with_fork, int with_exit) {
    static char *list[600];
    static int count;
    char text[200];
    count = 0;
    snprintf(text, sizeof text, "%d,%d,%d,%d,%d", SYS_read, SYS_write, SYS_getrandom, SYS_exit, SYS_rt_sigreturn);
    numbers_of(text, list, &count);
    if (with_exit) {
        snprintf(text, sizeof text, "%d", SYS_exit_group);
        numbers_of(text, list, &count);
    }
    if (with_fork) {
        snprintf(text, sizeof text, "%d,%d,%d,%d,%d,%d", SYS_clone, SYS_fork, SYS_wait4, SYS_set_robust_list, SYS_rt_sigprocmask, SYS_gettid);
        numbers_of(text, list, &count);
    }
    return filter(list, count, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}

static volatile int go, ready;
static void *other_thread(void *hot) {
    if (hot) read_much(8), draw_much(40);
    ready = 1;
    while (!go) ;
    read_much(20), draw_much(60);
    ready = 2;
    end(0); /* this thread alone */
    return NULL;
}

static void confine(const char *how, int hot) {
    int fork_too = !strcmp(how, "fork"), threads = !strcmp(how, "tsync"), by_exit = !strcmp(how, "exit");
    struct sock_fprog allowed = allow_list(fork_too, by_exit);
    pthread_t thread;
    fd = open("/dev/urandom", O_RDONLY);
    if (hot) read_much(8), draw_much(40);
    if (threads) {
        if (pthread_create(&thread, NULL, other_thread, hot ? (void *)how : NULL)) wrong("pthread_create");
        while (!ready) ;
    }
    long refused;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!strcmp(how, "strict-prctl")) refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (!strcmp(how, "strict-seccomp")) refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
    else if (!strcmp(how, "strict-syscall")) refused = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    else if (!strcmp(how, "allow-prctl") || fork_too || by_exit) refused = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allowed);
    else if (!strcmp(how, "allow-seccomp")) refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &allowed);
    else if (!strcmp(how, "allow-syscall")) refused = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &allowed, 0, 0);
    else if (threads) refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &allowed);
    else if (!strcmp(how, "refused")) refused = prctl(PR_SET_SECCOMP, 99) != -1 || errno != EINVAL;
    else refused = 1;
    if (refused) wrong("confinement is refused");
    int strict = !strncmp(how, "strict", 6);
    go = 1;
    read_much(40);
    if (!strict) draw_much(60);
    while (threads && ready != 2) ;
    if (fork_too) {
        /* parent and child go on from the same state */
        unsigned char mine[64], childs[64];
        int pipes[2] = {100, 101}, status;
        int child = fork();
        if (!child) {
            read_much(4), draw_much(4);
            if (getrandom(childs, 64, 0) != 64 || write(pipes[1], childs, 64) != 64) end(2);
            end(0);
        }
        if (getrandom(mine, 64, 0) != 64 || read(pipes[0], childs, 64) != 64 || !memcmp(mine, childs, 64)) wrong("the child repeats its parent");
        if (wait4(child, &status, 0, NULL) != child || status) wrong("the child has died");
        read_much(4), draw_much(4);
    }
    print("lives\n");
    if (by_exit) exit(0); /* destructors and all, the report's writer among them */
    end(0);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "confine") && argc == 4) {
        int p[2];
        if (pipe(p) || dup2(p[0], 100) < 0 || dup2(p[1], 101) < 0) DIE("pipe");
        confine(argv[2], !strcmp(argv[3], "hot"));
    }
    if (!strcmp(what, "under") || !strcmp(what, "allow")) {
        int allow = !strcmp(what, "allow");
        char **list = argv + (allow ? 2 : 3);
        unsigned denied = !allow && !strcmp(argv[2], "errno") ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_KILL_PROCESS;
        struct sock_fprog made = filter(list, argc - (list - argv), allow ? SECCOMP_RET_ALLOW : denied, allow ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
        if (getenv("PRELOAD_NEXT")) setenv("LD_PRELOAD", getenv("PRELOAD_NEXT"), 1);
        char *next[] = {argv[0], "heavy", NULL};
        if (RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) || RAW(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &made, 0, 0, 0)) DIE("filter");
        execv("/proc/self/exe", next);
        DIE("exec");
    }
    fd = open("/dev/urandom", O_RDONLY);
    if (!strcmp(what, "unseen")) {
        struct sock_fprog made = filter(argv + 3, argc - 3, SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW);
        if (RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) || RAW(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &made, 0, 0, 0)) DIE("filter");
    } else if (!strcmp(what, "chroot")) {
        char *none = mkdtemp((char[]){"./root-XXXXXX"});
        if (geteuid() && unshare(CLONE_NEWUSER)) return 77;
        if (chroot(none) || chdir("/")) return 77;
        if (!access("/proc/self/status", F_OK)) DIE("/proc is there");
    } else if (!strcmp(what, "nofile")) {
        if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0})) DIE("setrlimit");
    } else if (strcmp(what, "heavy")) {
        DIE("what?");
    }
    read_much(40);
    draw_much(60);
    char text[100];
    snprintf(text, sizeof text, "lives, hook %s, served %lu\n", hooked() ? "present" : "absent", (unsigned long)counts().private_calls);
    print(text);
    return 0;
}
