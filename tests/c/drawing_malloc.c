/* Settles: a program whose malloc draws (hardened allocators take a secret for
 * their free lists) neither recurses without end nor gets a byte twice. */
#include "proof.h"
#include <pthread.h>

static struct blocks *table;
static unsigned char arena[1 << 22];
static size_t used;

static void draw(void)
{
    unsigned char secret[16];
    CHECK(getrandom(secret, sizeof secret, 0) == sizeof secret);
    if (table)
        note_blocks(table, secret, sizeof secret);
}

void *malloc(size_t len)
{
    draw();
    size_t at = __atomic_fetch_add(&used, (len + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    return at + len + 32 > sizeof arena ? NULL : arena + at + 16;
}

void free(void *memory)
{
    (void)memory;
}

void *calloc(size_t count, size_t len)
{
    return malloc(count * len); /* the arena is zero and never reused */
}

void *realloc(void *memory, size_t len)
{
    void *larger = malloc(len);
    if (larger && memory)
        memmove(larger, memory, len < 256 ? len : 256);
    return larger;
}

static void *thread(void *unused)
{
    for (int call = 0; call < 400; call++)
        CHECK(malloc(8));
    return unused;
}

int main(void)
{
    table = make_blocks(1 << 16);
    prove();
    thread(NULL);
    for (int round = 0; round < 8; round++) {
        pthread_t id[4];
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&id[i], NULL, thread, NULL) == 0);
        for (int i = 0; i < 4; i++)
            CHECK(pthread_join(id[i], NULL) == 0);
    }
    if (hooked())
        CHECK(counts().threads_moved >= 20);
    /* 2^14 blocks: equal by chance with 2^-101. */
    CHECK(table->used > 13000 && repeats(table) == 0);
    puts("malloc ok");
}
