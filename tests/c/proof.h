/* What every test program shares: proof that the library is there (or is not),
 * and a table of 16-byte blocks that must all differ, shared with children.
 *
 * Two random blocks are equal with probability 2^-128; with the at most 2^20
 * blocks of one program, chance makes a test fail with less than 2^-88. */
#ifndef PROOF_H
#define PROOF_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    ((condition) ? (void)0 : (dprintf(2, "line %d: %s (errno %d)\n", __LINE__, #condition, errno), _exit(99)))

/* The head of struct ownpool_stats. */
struct counts { uint64_t threads_moved, kernel_calls, kernel_bytes, private_calls, private_bytes; };

static inline int hooked(void)
{
    return dlsym(RTLD_DEFAULT, "ownpool_version") != NULL;
}

/* Ends the program unless the library is there exactly if HOOKED=1:
 * the loader ignores a preload that it cannot load. */
static inline void prove(void)
{
    const char *wanted = getenv("HOOKED");
    if (!wanted || hooked() != (*wanted == '1')) {
        dprintf(2, "HOOKED=%s, but it is not so\n", wanted ? wanted : "");
        _exit(98);
    }
}

static inline struct counts counts(void)
{
    struct counts now = {0};
    int (*stats)(void *, size_t) = (int (*)(void *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    if (stats)
        stats(&now, sizeof now);
    return now;
}

/* Makes this thread heavy, if there is anything that judges it. */
static inline void draw_heavily(void)
{
    char block[16];
    for (int call = 0; call < 300; call++)
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
}

struct blocks { size_t used, room; unsigned char block[][16]; };

/* A table that children share. */
static inline struct blocks *make_blocks(size_t room)
{
    size_t len = sizeof(struct blocks) + 16 * room;
    struct blocks *table = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        _exit(97);
    table->room = room;
    return table;
}

/* Notes whole blocks; what is left over is not looked at. */
static inline void note_blocks(struct blocks *table, const void *bytes, size_t len)
{
    size_t count = len / 16, at = __atomic_fetch_add(&table->used, count, __ATOMIC_RELAXED);
    if (at + count > table->room)
        _exit(96);
    memcpy(table->block[at], bytes, 16 * count);
}

static inline int compare_blocks(const void *a, const void *b)
{
    return memcmp(a, b, 16);
}

/* How many blocks equal another one, or are all zero. */
static inline size_t repeats(struct blocks *table)
{
    static const unsigned char zero[16];
    size_t found = 0;
    qsort(table->block, table->used, 16, compare_blocks);
    for (size_t at = 0; at < table->used; at++) {
        found += memcmp(table->block[at], zero, 16) == 0;
        found += at > 0 && memcmp(table->block[at], table->block[at - 1], 16) == 0;
    }
    return found;
}
#endif
