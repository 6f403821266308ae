/* Every function at every moment of a process: before constructors, in them, on threads,
 * in and after their destructors, in signal handlers (on a small stack, in the middle of
 * another draw), in forked children, at exit. Each moment draws 32 bytes and the integers;
 * no two draws of the whole family of processes are equal (by chance: 2^-100 at most). */
#include "api.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#define MOST 4096
struct draw {
    unsigned char fill[16], got[16];
    uint64_t wide[2];
    uint32_t narrow[4], uniform[4];
};
static struct record {
    unsigned count;
    struct draw draws[MOST];
} early, *record = &early; /* shared memory from main on */

/* May run anywhere, so it makes no call that is not async-signal-safe. */
static void moment(void) {
    unsigned at = __atomic_fetch_add(&record->count, 1, __ATOMIC_RELAXED);
    if (at >= MOST) _exit(3);
    struct draw *draw = &record->draws[at];
    int before = errno;
    errno = 4711;
    CHECK(ownpool_fill(draw->fill, sizeof draw->fill) == 0);
    CHECK(ownpool_getrandom(draw->got, sizeof draw->got, 0) == sizeof draw->got);
    for (int i = 0; i < 2; i++) draw->wide[i] = ownpool_u64();
    for (int i = 0; i < 4; i++) draw->narrow[i] = ownpool_u32();
    for (int i = 0; i < 4; i++) draw->uniform[i] = ownpool_uniform(0xffffffffu);
    CHECK(ownpool_uniform(1) == 0);
    static const char *const known[] = {"off", "auto", "always", "vdso", "observe"};
    int modes = 0;
    for (int i = 0; i < 5; i++) modes += strcmp(ownpool_mode(), known[i]) == 0;
    CHECK(modes == 1);
    CHECK(strncmp(ownpool_version(), "ownpool ", 8) == 0);
    struct ownpool_stats stats;
    CHECK(ownpool_stats(&stats, sizeof stats) == 0);
    ownpool_reseed();
    CHECK(ownpool_fill(draw->fill, sizeof draw->fill) == 0);
    CHECK(errno == 4711);
    errno = before;
}

static void first_of_all(void) {
    CHECK(strcmp(ownpool_mode(), "off") == 0);
    moment();
    CHECK(ownpool_set_mode("always") == 0);
    moment();
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = first_of_all;

__attribute__((constructor)) static void constructor(void) {
    CHECK(early.count == 2 && strcmp(ownpool_mode(), getenv("OWNPOOL_MODE")) == 0);
    moment();
}

static pthread_key_t key;
static int rounds;
static void destructor(void *value) {
    moment();
    rounds++;
    /* Comes back after the library's own destructor, until the loader gives up. */
    pthread_setspecific(key, value);
}
static void *thread(void *unused) {
    moment();
    pthread_setspecific(key, &rounds);
    moment();
    return unused;
}
static void on_thread(void *(*work)(void *)) {
    pthread_t id;
    CHECK(pthread_create(&id, NULL, work, NULL) == 0 && pthread_join(id, NULL) == 0);
}

static void handler(int signal) {
    (void)signal;
    moment();
}
static void forking_handler(int signal) {
    (void)signal;
    moment();
    pid_t child = fork();
    if (child == 0) {
        moment();
        _exit(0);
    }
    reap(child);
}
static void handle(int signal, void (*by)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = by;
    action.sa_flags = flags;
    CHECK(sigaction(signal, &action, NULL) == 0);
}

/* A timer interrupts draws again and again; both sides keep what they drew. */
#define INSIDE 200000
static unsigned inside_count;
static struct pair { uint64_t a, b; } *inside;
static void draw_inside(int signal) {
    (void)signal;
    for (int i = 0; i < 3; i++) {
        unsigned at = __atomic_fetch_add(&inside_count, 1, __ATOMIC_RELAXED);
        if (at < INSIDE) CHECK(ownpool_fill(&inside[at], sizeof *inside) == 0);
    }
}
static int by_value(const void *a, const void *b) { return memcmp(a, b, sizeof(struct pair)); }
static void interrupted(void) {
    inside = (struct pair *)calloc(INSIDE, sizeof *inside);
    CHECK(inside != NULL);
    handle(SIGALRM, draw_inside, SA_RESTART);
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;) {
        unsigned at = __atomic_fetch_add(&inside_count, 1, __ATOMIC_RELAXED);
        if (at >= INSIDE) break;
        inside[at].a = ownpool_u64();
        inside[at].b = ((uint64_t)ownpool_u32() << 32) | ownpool_u32();
        /* Calls that leave the fast path are longer: more of them are interrupted. */
        if (at % 64 == 0) {
            unsigned char many[8192];
            CHECK(ownpool_fill(many, sizeof many) == 0);
        }
    }
    setitimer(ITIMER_REAL, &never, NULL);
    qsort(inside, INSIDE, sizeof *inside, by_value);
    for (unsigned i = 1; i < INSIDE; i++) CHECK(by_value(&inside[i - 1], &inside[i]) != 0);
    free(inside);
}

static void children(int depth) {
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        if (child == 0) {
            /* Counts start anew in a child. */
            CHECK(counts().private_bytes == 0 && counts().kernel_bytes == 0);
            moment();
            if (depth > 0) children(depth - 1);
            moment();
            _exit(0);
        }
        moment();
        reap(child);
    }
}
static void *forking_thread(void *unused) {
    moment();
    children(0);
    moment();
    return unused;
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, 16); }
static void at_exit(void) { moment(); }
static void check_all(void);
__attribute__((destructor)) static void last_of_all(void) {
    moment();
    check_all();
}

static pid_t first;
static void check_all(void) {
    static unsigned char all[MOST * 5][16];
    static const unsigned char zeros[16] = {0};
    if (getpid() != first) return;
    unsigned count = record->count, rows = 0;
    CHECK(count > 250 && count <= MOST);
    for (unsigned i = 0; i < count; i++) {
        memcpy(all[rows++], record->draws[i].fill, 16);
        memcpy(all[rows++], record->draws[i].got, 16);
        memcpy(all[rows++], record->draws[i].wide, 16);
        memcpy(all[rows++], record->draws[i].narrow, 16);
        memcpy(all[rows++], record->draws[i].uniform, 16);
    }
    qsort(all, rows, 16, by_bytes);
    for (unsigned i = 0; i < rows; i++) {
        CHECK(memcmp(all[i], zeros, 16) != 0);
        CHECK(i == 0 || memcmp(all[i - 1], all[i], 16) != 0);
    }
    /* A program's buffered output is written before destructors run. */
    dprintf(1, "%u moments\n", count);
}

int main(void) {
    first = getpid();
    struct record *shared = (struct record *)mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    *shared = early;
    record = shared;
    moment();
    CHECK(atexit(at_exit) == 0 && pthread_key_create(&key, destructor) == 0);
    for (int i = 0; i < 8; i++) on_thread(thread);
    CHECK(rounds >= 8 * 2);

    static unsigned char small[16384];
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = small;
    stack.ss_size = sizeof small;
    CHECK(sigaltstack(&stack, NULL) == 0);
    handle(SIGUSR1, handler, SA_ONSTACK);
    handle(SIGUSR2, forking_handler, 0);
    for (int i = 0; i < 8; i++) CHECK(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0);
    children(1);
    on_thread(forking_thread);
    interrupted();
    moment();
    return 0;
}
