/* Settles: a program that defines functions of the hooked names keeps them for
 * itself, and the library never calls them back. */
#include "proof.h"

static int calls;

ssize_t getrandom(void *dest, size_t len, unsigned flags)
{
    (void)flags;
    calls++;
    memset(dest, 0x5a, len);
    return len;
}

ssize_t read(int fd, void *dest, size_t len)
{
    (void)fd;
    calls += 1000;
    memset(dest, 0x5b, len);
    return len;
}

int open(const char *path, int flags, ...)
{
    (void)path;
    (void)flags;
    calls += 1000000;
    return -1;
}

int main(void)
{
    prove();
    char own[16], block[64];
    CHECK(getrandom(own, sizeof own, 0) == 16 && own[0] == 0x5a && own[15] == 0x5a);
    CHECK(calls == 1);
    /* The other entries, over the allowance: a move, its look at /proc, refills. */
    for (int call = 0; call < 400; call++) {
        CHECK(syscall(SYS_getrandom, block, sizeof block, 0L) == sizeof block);
        CHECK(getentropy(block, sizeof block) == 0);
        arc4random_buf(block, sizeof block);
        CHECK(memcmp(block, own, 16) != 0);
    }
    printf("own calls %d\n", calls);
    if (hooked())
        CHECK(counts().threads_moved == 1);
    return calls == 1 ? 0 : 1;
}
