/* Settles what happens to threads, and to what they leave behind:
 *
 *   churn       1,500 short busy threads leave mappings and memory flat
 *   many        200 threads at once, each with a generator of its own
 *   keys        after EARLY_KEYS pthread keys of others: do threads still move?
 *   limit       RLIMIT_AS leaves no room for a page: the kernel answers
 *   cancel      threads that only draw can be cancelled, at once and later
 *   cancel_api  the same by ownpool_getrandom
 *   async       asynchronous cancellation in mid-draw loses no page's owner
 *   exit        pthread_exit, and detached threads that draw while main ends
 *   main_exits  main leaves by pthread_exit, others draw on
 *
 * All that is drawn and noted is different: 2^16 blocks, odds 2^-97. */
#include "proof.h"
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

static struct blocks *table;

static void draw(int calls)
{
    unsigned char block[16];
    for (int call = 0; call < calls; call++) {
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
        if (call % 16 == 0)
            note_blocks(table, block, sizeof block);
    }
}

static void start(pthread_t *id, void *(*body)(void *))
{
    CHECK(pthread_create(id, NULL, body, NULL) == 0);
}

static void *busy(void *unused)
{
    static __thread unsigned char large[8192];
    draw(256);
    CHECK(getrandom(large, sizeof large, 0) == sizeof large);
    note_blocks(table, large, 64);
    return unused;
}

/* Mappings, and resident pages, of this process. */
static void usage(long *mappings, long *resident)
{
    FILE *file = fopen("/proc/self/maps", "re");
    CHECK(file);
    *mappings = 0;
    for (int c; (c = getc(file)) != EOF;)
        *mappings += c == '\n';
    fclose(file);
    file = fopen("/proc/self/statm", "re");
    CHECK(file && fscanf(file, "%*d %ld", resident) == 1);
    fclose(file);
}

static void churn(void)
{
    long mappings[2], resident[2];
    for (int count = 0; count < 1500; count++) {
        pthread_t id[2];
        if (count == 100)
            usage(&mappings[0], &resident[0]);
        start(&id[0], busy);
        start(&id[1], busy);
        CHECK(pthread_join(id[0], NULL) == 0 && pthread_join(id[1], NULL) == 0);
    }
    usage(&mappings[1], &resident[1]);
    /* A page leaked by each would be 2,800 of them. The table that the blocks are
     * noted in fills up meanwhile: 16 bytes and 64 a thread, 100 pages. */
    printf("mappings %+ld\n", mappings[1] - mappings[0]);
    CHECK(mappings[1] - mappings[0] <= 2 && resident[1] - resident[0] < 400);
    if (hooked())
        CHECK(counts().threads_moved == 3000);
}

static pthread_barrier_t together;

static void *at_once(void *unused)
{
    pthread_barrier_wait(&together);
    draw(300);
    pthread_barrier_wait(&together);
    draw(300);
    return unused;
}

static void many(void)
{
    enum { THREADS = 200 };
    static pthread_t id[THREADS];
    uint64_t before = counts().threads_moved;
    CHECK(pthread_barrier_init(&together, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        start(&id[i], at_once);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(id[i], NULL) == 0);
    if (hooked())
        CHECK(counts().threads_moved == before + THREADS);
}

/* Keys made before the library's constructor runs: numbers of 32 and more would
 * have to allocate within a draw, so then only the first thread moves. */
static void early(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    for (; *envp; envp++)
        if (strncmp(*envp, "EARLY_KEYS=", 11) == 0)
            for (int count = atoi(*envp + 11); count > 0; count--) {
                pthread_key_t key;
                CHECK(pthread_key_create(&key, NULL) == 0);
            }
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **, char **) = early;

static void keys(void)
{
    pthread_t id;
    start(&id, busy);
    CHECK(pthread_join(id, NULL) == 0);
    long others = counts().threads_moved;
    draw(300);
    printf("others %ld main %ld\n", others, (long)counts().threads_moved - others);
}

static void limit(void)
{
    struct rlimit none = {0, 0};
    getrlimit(RLIMIT_AS, &none);
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    draw(1000);
    if (hooked())
        CHECK(counts().threads_moved == 0);
    none.rlim_cur = none.rlim_max;
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    draw(1000);
}

static int started;
/* What only_draws draws by. */
static ssize_t (*by)(void *, size_t, unsigned) = getrandom;

static void *only_draws(void *how)
{
    unsigned char block[4096];
    CHECK(pthread_setcanceltype(how ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL) == 0);
    for (int call = 0;; call++) {
        /* The table notes but a part; errors would show as -1. */
        if (by(block, call % 50 ? 16 : sizeof block, 0) < 16)
            _exit(91);
        if (call == 1000)
            __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    }
}

static void cancel(void *how)
{
    for (int round = 0; round < 60; round++) {
        pthread_t id;
        void *result;
        __atomic_store_n(&started, 0, __ATOMIC_RELEASE);
        CHECK(pthread_create(&id, NULL, only_draws, how) == 0);
        while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
            sched_yield();
        CHECK(pthread_cancel(id) == 0);
        CHECK(pthread_join(id, &result) == 0 && result == PTHREAD_CANCELED);
        busy(NULL);
    }
    /* Each page has one thread now. */
    many();
}

static void *leaves(void *unused)
{
    draw(300);
    pthread_exit(unused);
}

static void *draws_for_ever(void *unused)
{
    unsigned char block[16];
    for (;;)
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
    return unused;
}

static void detached(int threads)
{
    for (int i = 0; i < threads; i++) {
        pthread_t id;
        start(&id, draws_for_ever);
        CHECK(pthread_detach(id) == 0);
    }
    struct timespec soon = {0, 5000000};
    nanosleep(&soon, NULL);
}

static void *ends_it(void *unused)
{
    draw(600);
    CHECK(repeats(table) == 0);
    puts("ok");
    exit(0);
    return unused;
}

int main(int argc, char **argv)
{
    prove();
    CHECK(argc == 2);
    const char *what = argv[1];
    table = make_blocks(1 << 17);
    if (strcmp(what, "churn") == 0)
        churn();
    else if (strcmp(what, "many") == 0)
        many();
    else if (strcmp(what, "keys") == 0)
        keys();
    else if (strcmp(what, "limit") == 0)
        limit();
    else if (strcmp(what, "cancel") == 0)
        cancel(NULL);
    else if (strcmp(what, "cancel_api") == 0) {
        if (hooked())
            by = (ssize_t (*)(void *, size_t, unsigned))dlsym(RTLD_DEFAULT, "ownpool_getrandom");
        CHECK(by != NULL);
        cancel(NULL);
    } else if (strcmp(what, "async") == 0)
        cancel(table);
    else if (strcmp(what, "exit") == 0) {
        for (int i = 0; i < 100; i++) {
            pthread_t id;
            start(&id, leaves);
            CHECK(pthread_join(id, NULL) == 0);
        }
        detached(3);
    } else if (strcmp(what, "main_exits") == 0) {
        pthread_t id;
        draw(300);
        start(&id, ends_it);
        pthread_exit(NULL);
    } else
        return 1;
    CHECK(repeats(table) == 0);
    puts("ok");
    return 0;
}
