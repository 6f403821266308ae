/* Settles: whatever copies a process, and however its threads stood before, no
 * two processes are given the same bytes. Arguments: how to copy, and what was
 * drawn before (none, small, large). Every process notes what it draws in one
 * shared table; no two 16-byte blocks of it may be equal, none zero.
 * At most 2^17 blocks: a false alarm has odds of 2^-95. */
#include "proof.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* linux/sched.h, which glibc's sched.h does not go along with. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static struct blocks *table;
static int stop;

static void draw_small(int calls)
{
    unsigned char block[16];
    for (int call = 0; call < calls; call++) {
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
        note_blocks(table, block, sizeof block);
    }
}

static void draw_unnoted(void)
{
    unsigned char block[16];
    CHECK(getrandom(block, sizeof block, 0) == sizeof block);
}

static void draw_large(void)
{
    static __thread unsigned char large[8192];
    CHECK(getrandom(large, sizeof large, 0) == sizeof large);
    note_blocks(table, large, sizeof large);
}

static void draw(void)
{
    unsigned char block[32];
    draw_small(5);
    CHECK(syscall(SYS_getrandom, block, 32, 0L) == 32);
    note_blocks(table, block, 32);
    CHECK(getentropy(block, 32) == 0);
    note_blocks(table, block, 32);
    arc4random_buf(block, 32);
    note_blocks(table, block, 32);
    draw_large();
    draw_small(5);
}

static void before(const char *what)
{
    if (strcmp(what, "none") == 0)
        return;
    draw_heavily();
    if (strcmp(what, "large") == 0)
        draw_large();
    else
        draw_small(5);
    const char *moves = getenv("MOVES");
    if (hooked())
        CHECK(counts().threads_moved == (moves && *moves == '0' ? 0 : 1));
}

static void reap(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, __WALL) == child);
    if (status != 0)
        dprintf(2, "a child ended with %x\n", status);
    CHECK(status == 0);
}

static void *draw_on(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        /* Half of the table is kept for the processes. */
        if (__atomic_load_n(&table->used, __ATOMIC_RELAXED) < table->room / 2)
            draw_small(4);
        else
            draw_unnoted();
    }
    return unused;
}

static pid_t copy(const char *how)
{
    struct clone_arguments plain = {.exit_signal = SIGCHLD};
    if (strcmp(how, "_Fork") == 0)
        return _Fork();
    if (strcmp(how, "clone") == 0)
        return syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L);
    if (strcmp(how, "clone3") == 0)
        return syscall(SYS_clone3, &plain, sizeof plain);
    if (strcmp(how, "sys_fork") == 0)
        return syscall(SYS_fork);
    return fork();
}

/* A child in a pid namespace of its own, whose own child gets a chosen pid:
 * a library that knows processes by their pid takes it for its parent's twin. */
static void same_pid(void)
{
    pid_t first = fork();
    if (first == 0) {
        /* Nothing here may be given the parent's bytes either. */
        if (unshare(CLONE_NEWPID) != 0)
            _exit(77);
        pid_t init = fork();
        if (init == 0) {
            draw();
            for (int round = 0; round < 4; round++) {
                pid_t wanted = 7000;
                struct clone_arguments same = {
                    .exit_signal = SIGCHLD, .set_tid = (uint64_t)&wanted, .set_tid_size = 1};
                pid_t child = syscall(SYS_clone3, &same, sizeof same);
                if (child == 0) {
                    draw();
                    _exit(getpid() == 7000 ? 0 : 93);
                }
                reap(child);
                draw();
            }
            /* A process and its child that both are 1, each in its own namespace. */
            struct clone_arguments inner = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
            pid_t child = syscall(SYS_clone3, &inner, sizeof inner);
            if (child == 0) {
                draw();
                _exit(getpid() == 1 ? 0 : 92);
            }
            CHECK(getpid() == 1);
            reap(child);
            draw();
            _exit(0);
        }
        reap(init);
        _exit(0);
    }
    int status;
    CHECK(waitpid(first, &status, 0) == first);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        puts("skipped: no pid namespace");
        exit(0);
    }
    CHECK(status == 0);
}

int main(int argc, char **argv)
{
    prove();
    CHECK(argc == 3);
    const char *how = argv[1];
    table = make_blocks(1 << 17);
    before(argv[2]);
    if (strcmp(how, "vfork") == 0) {
        for (volatile int round = 0; round < 6; round++) {
            volatile pid_t child = vfork();
            if (child == 0) {
                draw();
                _exit(0);
            }
            reap(child);
            draw();
        }
    } else if (strcmp(how, "grandchild") == 0) {
        for (int depth = 0; depth < 6; depth++) {
            pid_t child = fork();
            if (child != 0) {
                draw();
                reap(child);
                if (depth > 0)
                    _exit(0);
                break;
            }
            if (depth % 2)
                draw(); /* every other generation draws before it forks on */
            if (depth == 5)
                _exit(0);
        }
    } else if (strcmp(how, "same_pid") == 0) {
        same_pid();
        draw();
    } else {
        int threads = strcmp(how, "threads") == 0 ? 2 : 0;
        pthread_t id[2];
        for (int i = 0; i < threads; i++)
            CHECK(pthread_create(&id[i], NULL, draw_on, NULL) == 0);
        for (int round = 0; round < 8; round++) {
            /* Two at once from the same state, and one whose parent draws first. */
            pid_t children[3];
            for (int i = 0; i < 3; i++) {
                children[i] = copy(how);
                if (children[i] == 0) {
                    draw();
                    _exit(0);
                }
                if (i == 1)
                    draw_small(1);
            }
            draw();
            for (int i = 0; i < 3; i++)
                reap(children[i]);
        }
        __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < threads; i++)
            CHECK(pthread_join(id[i], NULL) == 0);
    }
    CHECK(table->used > 3000 && repeats(table) == 0);
    puts("no repeats");
}
