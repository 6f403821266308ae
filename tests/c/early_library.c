/* Settles: a library that the program needs, or loads later, may draw in its own
 * constructor and destructor, which run when the loader likes: before the hooks'
 * own start, or after their end. Prints a line for each on descriptor 1. Blocks differ: 2^-107. */
#include "proof.h"

static struct blocks *table;

static void draw(const char *where)
{
    unsigned char block[16], large[5000];
    table = table ? table : make_blocks(1 << 13);
    for (int call = 0; call < 200; call++) {
        errno = 77;
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
        note_blocks(table, block, sizeof block);
        CHECK(syscall(SYS_getrandom, block, 16, 0L) == 16);
        note_blocks(table, block, sizeof block);
        CHECK(getentropy(block, sizeof block) == 0);
        note_blocks(table, block, sizeof block);
        arc4random_buf(block, sizeof block);
        note_blocks(table, block, sizeof block);
        CHECK(errno == 77);
    }
    CHECK(getrandom(large, sizeof large, 0) == sizeof large);
    note_blocks(table, large, sizeof large);
    CHECK(repeats(table) == 0);
    dprintf(1, "%s\n", where);
}

__attribute__((constructor)) static void constructor(void)
{
    draw("library constructor");
}

__attribute__((destructor)) static void destructor(void)
{
    draw("library destructor");
}

int early_library(void)
{
    draw("library");
    return 42;
}
