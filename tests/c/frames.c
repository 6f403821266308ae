/* Settles: every entry works from every place of a program: FRAME names it. The
 * work is heavy enough to move the thread, refill, and stream; all of it must be
 * right, different, and leave errno alone. Prints "FRAME ok" once a place ran. */
#include "proof.h"
#include <pthread.h>
#include <signal.h>
#include <limits.h>

static struct blocks *table;
static const char *frame;
static int runs;

/* Every entry, over the allowance, on at most some 1.5 KiB of stack. */
static void work(void)
{
    static __thread unsigned char big[9000];
    unsigned char small[32];
    for (int call = 0; call < 100; call++) {
        errno = 77;
        CHECK(getrandom(small, 16, 0) == 16);
        note_blocks(table, small, 16);
        CHECK(syscall(SYS_getrandom, small, 16, 0L) == 16);
        note_blocks(table, small, 16);
        CHECK(getentropy(small, 32) == 0);
        note_blocks(table, small, 32);
        arc4random_buf(small, 16);
        note_blocks(table, small, 16);
        for (int word = 0; word < 4; word++) {
            uint32_t drawn = arc4random();
            memcpy(small + 4 * word, &drawn, 4);
        }
        note_blocks(table, small, 16);
        CHECK(arc4random_uniform(10) < 10);
        CHECK(errno == 77);
    }
    CHECK(getrandom(big, sizeof big, 0) == sizeof big);
    note_blocks(table, big, sizeof big);
    CHECK(errno == 77);
    __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
}

static void finish(void)
{
    CHECK(runs > 0);
    /* 2^12 blocks: two are equal by chance with 2^-105. */
    CHECK(table->used >= (size_t)runs * 1100 && repeats(table) == 0);
    dprintf(1, "%s ok\n", frame);
}

static int is(const char *name)
{
    return strcmp(frame, name) == 0;
}

static void begin(const char *name)
{
    if (table)
        return;
    frame = name;
    table = make_blocks(1 << 14);
    if (!frame)
        _exit(95);
}

/* Before every constructor, also the library's; getenv() does not work yet. */
static void before_all(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    for (; *envp; envp++)
        if (strcmp(*envp, "FRAME=preinit") == 0) {
            begin(*envp + strlen("FRAME="));
            work();
            finish();
        }
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = before_all;

__attribute__((constructor)) static void constructor(void)
{
    begin(getenv("FRAME"));
    if (is("constructor")) {
        work();
        finish();
    }
}

__attribute__((destructor)) static void destructor(void)
{
    if (is("destructor")) {
        work();
        finish();
    }
}

static void *thread(void *unused)
{
    work();
    return unused;
}

static void at_exit(void)
{
    work();
    finish();
}

static void on_exit_too(int status, void *unused)
{
    (void)unused;
    CHECK(status == 0);
    at_exit();
}

static void handler(int number)
{
    (void)number;
    work();
}

/* A key made after the library's own: its destructor runs after the library's,
 * when the thread's page has been given back. */
static pthread_key_t key;

static void *with_key(void *unused)
{
    CHECK(pthread_setspecific(key, &key) == 0);
    work();
    return unused;
}

static void last_words(void *unused)
{
    (void)unused;
    work();
}

static void run_thread(void *(*body)(void *), size_t stack)
{
    pthread_t id;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    if (stack)
        CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
    CHECK(pthread_create(&id, &attributes, body, NULL) == 0);
    CHECK(pthread_join(id, NULL) == 0);
}

static void run_child(pid_t child)
{
    int status;
    if (child == 0) {
        work();
        _exit(runs == 2 ? 0 : 94);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* On the least stack that a signal frame fits on, and 2 KiB: a page that must not
 * be touched lies below it. Nothing is left for the loader's lazy binding, which
 * takes more than that: this program is linked with -z now. */
static void in_handler(size_t stack)
{
    char *guard = mmap(NULL, stack + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guard != MAP_FAILED && mprotect(guard, 4096, PROT_NONE) == 0);
    stack_t alternate = {.ss_sp = guard + 4096, .ss_size = stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(raise(SIGUSR1) == 0);
}

int main(void)
{
    prove();
    if (is("main"))
        work();
    else if (is("thread"))
        run_thread(thread, 0);
    else if (is("small_thread"))
        run_thread(thread, PTHREAD_STACK_MIN + 16384 /* the table above is static TLS */);
    else if (is("smallest_thread"))
        run_thread(thread, 16384 + 16384);
    else if (is("tls_destructor")) {
        CHECK(pthread_key_create(&key, last_words) == 0);
        run_thread(with_key, 0);
        CHECK(runs == 2);
    } else if (is("signal_handler"))
        in_handler(sysconf(_SC_MINSIGSTKSZ) + 2048);
    else if (is("fork_child")) {
        work();
        run_child(fork());
    } else if (is("vfork_child")) {
        work();
        volatile pid_t child = vfork();
        if (child == 0) {
            work();
            _exit(0);
        }
        int status;
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0 && runs == 2);
    } else if (is("atexit"))
        CHECK(atexit(at_exit) == 0);
    else if (is("on_exit"))
        CHECK(on_exit(on_exit_too, NULL) == 0);
    else if (is("quick_exit")) {
        CHECK(at_quick_exit(at_exit) == 0);
        quick_exit(0);
    }
    if (runs > 0 && !is("preinit") && !is("constructor"))
        finish();
    return 0;
}
