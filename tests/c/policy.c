/* Settles who is moved, and when, under the settings in the environment: prints
 * after how many calls of 16 bytes this thread was first served privately (0:
 * never within 1,000), after an optional request of a given size.
 *
 *   policy                 calls until moved
 *   policy LEN             one call of LEN bytes first: was it private?
 *   policy forgive         moved, light for a while, and back on the kernel?
 *   policy paced           served privately in ten rounds of 100 calls and 20 ms?
 *   policy mode            what ownpool_mode() returns, and ownpool_fill() works
 *   policy reseeds CALLS   refills and reseeds after so many calls
 *   policy aged            reseeds before and after a pause
 */
#include "proof.h"
#include <time.h>

struct all_counts { uint64_t threads_moved, kernel_calls, kernel_bytes, private_calls, private_bytes,
    would_move_threads, would_move_calls, would_move_bytes, refills, reseeds; };

static struct all_counts now(void)
{
    struct all_counts counts = {0};
    int (*stats)(void *, size_t) = (int (*)(void *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    CHECK(stats && stats(&counts, sizeof counts) == 0);
    return counts;
}

static void draw(int calls)
{
    char block[16];
    while (calls--)
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
}

static void pause_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0)
        ;
}

static void until_moved(void)
{
    for (int call = 1; call <= 1000; call++) {
        draw(1);
        if (now().private_calls > 0) {
            printf("%d\n", call);
            return;
        }
    }
    puts("0");
}

/* Light behaviour: 16 bytes every 20 ms are 800 a second, which the settings of
 * the test allow. The thread is looked at when it refills, so it draws on for as
 * long as two buffers last. */
static void forgive(void)
{
    draw(4000);
    CHECK(now().threads_moved == 1);
    uint64_t kernel = now().kernel_calls;
    for (int round = 0; round < 250; round++) {
        draw(10);
        pause_ms(10);
        if (now().kernel_calls > kernel) {
            draw(50);
            CHECK(now().kernel_calls >= kernel + 40);
            puts("forgiven");
            return;
        }
    }
    puts("not forgiven");
}

int main(int argc, char **argv)
{
    prove();
    const char *what = argc > 1 ? argv[1] : "";
    if (!*what)
        until_moved();
    else if (strcmp(what, "forgive") == 0)
        forgive();
    else if (strcmp(what, "mode") == 0) {
        const char *(*mode)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "ownpool_mode");
        int (*fill)(void *, size_t) = (int (*)(void *, size_t))dlsym(RTLD_DEFAULT, "ownpool_fill");
        unsigned char block[64] = {0}, zero[64] = {0};
        CHECK(mode && fill && fill(block, sizeof block) == 0 && memcmp(block, zero, 64) != 0);
        puts(mode());
    } else if (strcmp(what, "reseeds") == 0) {
        draw(atoi(argv[2]));
        printf("%llu %llu\n", (unsigned long long)now().refills, (unsigned long long)now().reseeds);
    } else if (strcmp(what, "paced") == 0) {
        for (int round = 0; round < 10; round++) {
            draw(100);
            pause_ms(20);
        }
        puts(now().private_calls > 0 ? "private" : "kernel");
    } else if (strcmp(what, "aged") == 0) {
        draw(2000);
        uint64_t before = now().reseeds;
        pause_ms(1100);
        draw(200);
        printf("%llu %llu\n", (unsigned long long)before, (unsigned long long)now().reseeds);
    } else {
        size_t len = strtoul(what, NULL, 10);
        char *room = malloc(len + 1);
        CHECK(room && getrandom(room, len, 0) == (ssize_t)len);
        puts(now().private_calls == 1 ? "private" : "kernel");
    }
    return 0;
}
