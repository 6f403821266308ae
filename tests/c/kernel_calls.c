/* Draws as it is told, and checks what it gets: kernel_calls PART...
 *
 *   16x200     200 requests of 16 bytes by getrandom
 *   16h3       3 by getentropy
 *   fork       forks; the child goes on with the rest too, and the parent waits for it
 *   reseed     ownpool_reseed
 *   thread     goes on with the rest in a new thread
 *
 * Every result, errno, and every 16 bytes are checked: not zero, not what was there
 * before, none twice (fewer than 2^14 blocks: odds below 2^-100). Before each part stands
 * a marker for the tracer: close(-1000 - number of the part).
 * Prints how many requests private generators answered.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 14 };
static struct { unsigned count; unsigned char blocks[MOST][16]; } *all;
static unsigned char dest[1 << 16];
static char **parts;
static int number;

static void fail(const char *what, size_t at) {
    fprintf(stderr, "%s: %s at %zu\n", parts[number], what, at);
    exit(1);
}

static void check(size_t len) {
    static const unsigned char zero[16];
    unsigned char old[16];
    memset(old, 0xa5, 16);
    for (size_t at = 0; at + 16 <= len; at += 16) {
        if (!memcmp(dest + at, zero, 16)) fail("zeros", at);
        if (!memcmp(dest + at, old, 16)) fail("unfilled", at);
        for (unsigned i = 0; i < all->count; i++)
            if (!memcmp(all->blocks[i], dest + at, 16)) fail("came before", at);
        if (all->count == MOST) fail("too many", at);
        memcpy(all->blocks[all->count++], dest + at, 16);
    }
}

static void *rest(void *unused) {
    for (; parts[number]; number++) {
        char *part = parts[number], kind;
        size_t len;
        int times;
        long marker = -1000 - number, result;
        __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_close), "D"(marker) : "rcx", "r11", "memory");
        if (sscanf(part, "%zu%c%d", &len, &kind, &times) == 3) {
            for (int i = 0; i < times; i++) {
                memset(dest, 0xa5, sizeof dest);
                errno = 77;
                if (kind == 'h' ? getentropy(dest, len) != 0 : getrandom(dest, len, 0) != (ssize_t)len)
                    fail("wrong result", (size_t)i);
                if (errno != 77) fail("errno changed", (size_t)i);
                for (size_t at = len; at < sizeof dest; at++)
                    if (dest[at] != 0xa5) fail("beyond the end", at);
                check(len);
            }
        } else if (!strcmp(part, "fork")) {
            int status, pid = fork();
            if (pid > 0 && (waitpid(pid, &status, 0) != pid || status)) fail("child", (size_t)status);
        } else if (!strcmp(part, "reseed")) {
            ((void (*)(void))dlsym(RTLD_DEFAULT, "ownpool_reseed"))();
        } else if (!strcmp(part, "thread")) {
            pthread_t thread;
            number++;
            if (pthread_create(&thread, NULL, rest, NULL)) fail("pthread_create", 0);
            pthread_join(thread, NULL);
            return unused;
        }
    }
    return unused;
}

int main(int argc, char **argv) {
    (void)argc;
    parts = argv + 1;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 2;
    rest(NULL);
    int (*stats)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    uint64_t counts[10] = {0};
    if (!stats || stats(counts, sizeof counts)) return 3;
    printf("private %lu blocks %u\n", counts[3], all->count);
    return 0;
}
