/* Draws as its arguments tell, and ends in one of many ways. Settles, by what the
 * tests see of it from outside: system calls, and the report when it ends.
 *
 *   many N        N draws of 16 bytes, all of which must differ (odds below)
 *   five          five draws by every entry, after a mark in the trace
 *   entries       a different number of draws by every entry
 *   beyond        lengths beyond anything, all refused
 *   threads       two threads that ended, two that are alive at the end, and main
 *   fork          300 draws, then 200 by a child that exits, then 10 more
 *   sites         observe: two call sites, 200 and 300 draws
 *   lost ENDING   200 draws, then _exit, exec, kill, abort or quick_exit
 *   closed        200 draws, then standard streams closed
 *   datafile PATH 200 draws, then descriptor 2 is a data file
 *   own_pipe      no signal is blocked or pending; then a write to descriptor 1
 *   nothing       draws nothing
 */
#include "proof.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>

static void draw(int calls)
{
    char block[16];
    while (calls--)
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
}

static void many(size_t calls)
{
    struct blocks *table = make_blocks(calls);
    unsigned char block[16];
    for (size_t call = 0; call < calls; call++) {
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
        note_blocks(table, block, sizeof block);
    }
    CHECK(repeats(table) == 0); /* 100,000 blocks: 2^-95 */
}

static void beyond(void)
{
    /* No address of a program: the kernel refuses before it writes. */
    char *nowhere = (char *)-4096L;
    volatile size_t endless = SIZE_MAX;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    CHECK(getrandom(nowhere, endless, 0) == -1);
    CHECK(syscall(SYS_getrandom, nowhere, endless / 2, 0L) == -1);
    CHECK(read(fd, nowhere, endless) == -1);
    CHECK(close(fd) == 0);
}

static void five(void)
{
    char block[64];
    /* malloc's own first calls are made before, in both programs: a failing
     * dlsym() has made them in one of them. */
    void *volatile memory = malloc(1);
    free(memory);
    syscall(SYS_close, -77L); /* the mark */
    for (int call = 0; call < 5; call++) {
        CHECK(getrandom(block, 16, 0) == 16);
        CHECK(getentropy(block, 16) == 0);
        CHECK(syscall(SYS_getrandom, block, 16, 0L) == 16);
        arc4random_buf(block, 16);
        (void)arc4random();
    }
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    for (int call = 0; call < 5; call++)
        CHECK(read(fd, block, 16) == 16);
    CHECK(close(fd) == 0);
    FILE *stream = fopen("/dev/null", "re");
    CHECK(stream && fclose(stream) == 0);
}

static void entries(void)
{
    char block[300];
    struct iovec vectors[2] = {{block, 100}, {block + 100, 10}};
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    for (int call = 0; call < 701; call++)
        CHECK(getrandom(block, 16, 0) == 16);
    for (int call = 0; call < 307; call++)
        CHECK(getentropy(block, 17) == 0);
    for (int call = 0; call < 211; call++)
        CHECK(syscall(SYS_getrandom, block, 18, 0L) == 18);
    for (int call = 0; call < 103; call++)
        (void)arc4random();
    for (int call = 0; call < 11; call++)
        arc4random_buf(block, 19);
    for (int call = 0; call < 13; call++)
        CHECK(read(fd, block, 300) == 300);
    for (int call = 0; call < 7; call++)
        CHECK(readv(fd, vectors, 2) == 110);
    /* Answered by the kernel, for causes that are counted. */
    CHECK(getrandom(block, 16, GRND_RANDOM) == 16);
    CHECK(getrandom(block, 16, 0x80) == -1);
    void *volatile bad = (void *)1;
    CHECK(getrandom(bad, 16, 0) == -1);
    CHECK(getrandom(block, 0, 0) == 0);
}

static pthread_barrier_t drawn;

static void *short_thread(void *unused)
{
    draw(1000);
    return unused;
}

static void *long_thread(void *unused)
{
    draw(2000);
    pthread_barrier_wait(&drawn);
    for (;;)
        pause();
    return unused;
}

static void threads(void)
{
    pthread_t id[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&id[i], NULL, short_thread, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(id[i], NULL) == 0);
    pthread_barrier_init(&drawn, NULL, 3);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&id[i], NULL, long_thread, NULL) == 0);
    pthread_barrier_wait(&drawn);
    draw(50);
}

static void forked(void)
{
    draw(300);
    pid_t child = fork();
    if (child == 0) {
        draw(200);
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    draw(10);
}

/* Two call sites, each with a return address of its own. */
__attribute__((noinline)) static void first_site(int calls)
{
    char block[16];
    while (calls--)
        CHECK(getrandom(block, 16, 0) == 16);
}

__attribute__((noinline)) static void second_site(int calls)
{
    char block[64];
    while (calls--)
        CHECK(getrandom(block, 20 + calls % 40, 0) > 0);
}

static void lost(const char *ending)
{
    draw(200);
    if (strcmp(ending, "_exit") == 0)
        _exit(0);
    if (strcmp(ending, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(ending, "exec") == 0)
        execl("/bin/true", "true", NULL);
    if (strcmp(ending, "kill") == 0)
        kill(getpid(), SIGKILL);
    abort();
}

int main(int argc, char **argv)
{
    prove();
    const char *what = argc > 1 ? argv[1] : "";
    const char *how = argc > 2 ? argv[2] : "";
    if (strcmp(what, "many") == 0)
        many(strtoul(how, NULL, 10));
    else if (strcmp(what, "five") == 0)
        five();
    else if (strcmp(what, "entries") == 0)
        entries();
    else if (strcmp(what, "beyond") == 0)
        beyond();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "fork") == 0)
        forked();
    else if (strcmp(what, "sites") == 0) {
        first_site(200);
        second_site(300);
    } else if (strcmp(what, "lost") == 0)
        lost(how);
    else if (strcmp(what, "closed") == 0) {
        draw(200);
        for (int fd = 0; fd < 3; fd++)
            CHECK(close(fd) == 0);
    } else if (strcmp(what, "datafile") == 0) {
        draw(200);
        int fd = open(how, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && write(fd, "data", 4) == 4 && dup2(fd, 2) == 2);
    } else if (strcmp(what, "own_pipe") == 0) {
        sigset_t blocked, pending;
        CHECK(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && sigpending(&pending) == 0);
        for (int number = 1; number < 32; number++)
            CHECK(!sigismember(&blocked, number) && !sigismember(&pending, number));
        return write(1, "x", 1) == 1 ? 0 : 98;
    } else if (strcmp(what, "nothing") != 0)
        return 1;
    return 0;
}
