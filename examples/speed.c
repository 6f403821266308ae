/* What a call costs from C, through the PLT: the median of 9 rounds, in nanoseconds.
 *
 *     cc -O2 speed.c $(pkg-config --cflags --libs ownpool) && ./a.out
 *
 * The argument is the number of calls a round (2000000).
 */
#define _POSIX_C_SOURCE 200809L
#include <ownpool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 9
static volatile uint64_t sink;
static unsigned char bytes[4096];

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void u32(void) { sink = ownpool_u32(); }
static void u64(void) { sink = ownpool_u64(); }
static void dice(void) { sink = ownpool_uniform(6); }
static void fill(size_t len) {
    if (ownpool_fill(bytes, len) != 0) exit(1);
}
static void fill_16(void) { fill(16); }
static void fill_64(void) { fill(64); }
static void fill_4096(void) { fill(4096); }
static void nothing(void) { sink = 0; }

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `call` is a pointer that the compiler cannot see through, so its own cost is the row
 * "nothing". */
static void row(const char *name, void (*volatile call)(void), long calls) {
    double rounds[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (long i = 0; i < calls; i++) call();
        rounds[round] = (now_ns() - start) / (double)calls;
    }
    qsort(rounds, ROUNDS, sizeof *rounds, by_size);
    printf("%-22s %8.2f ns\n", name, rounds[ROUNDS / 2]);
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 2000000;
    if (calls < 1) return 2;
    printf("%s\n", ownpool_version());
    row("nothing", nothing, calls);
    row("ownpool_u32", u32, calls);
    row("ownpool_u64", u64, calls);
    row("ownpool_uniform(6)", dice, calls);
    row("ownpool_fill 16", fill_16, calls);
    row("ownpool_fill 64", fill_64, calls);
    row("ownpool_fill 4096", fill_4096, calls / 64 + 1);
    return 0;
}
