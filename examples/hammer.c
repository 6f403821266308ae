/* An abusive caller: threads that call getrandom for 16 bytes again and again, and nothing
 * of ownpool. Run it bare and under the library to see the effect:
 *
 *     cc -O2 -pthread hammer.c -o hammer
 *     ./hammer
 *     ownpool run --stats ./hammer
 *
 * Arguments: calls a thread (200000), threads (2), bytes a call (16).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

static long calls = 200000;
static size_t len = 16;

static void *hammer(void *unused) {
    unsigned char *bytes = malloc(len ? len : 1);
    for (long call = 0; bytes != NULL && call < calls; call++) {
        if (getrandom(bytes, len, 0) < 0) {
            perror("getrandom");
            exit(1);
        }
    }
    free(bytes);
    return unused;
}

int main(int argc, char **argv) {
    int threads = 2;
    if (argc > 1) calls = atol(argv[1]);
    if (argc > 2) threads = atoi(argv[2]);
    if (argc > 3) len = (size_t)atol(argv[3]);
    if (calls < 1 || threads < 1 || threads > 256) {
        fprintf(stderr, "usage: hammer [CALLS [THREADS [BYTES]]]\n");
        return 2;
    }

    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_t ids[256];
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, hammer, NULL) != 0) return 1;
    }
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);

    double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("%d threads, %ld calls of %zu bytes each: %.3f s, %.1f ns a call\n", threads, calls, len,
           took, took * 1e9 / (double)calls);
    return 0;
}
