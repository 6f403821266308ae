/* A raw clone whose thread pointer is to a block of its own, as language runtimes without a libc
 * make them: what lies below the block is the program's data, and is left alone, whatever it
 * is. */
#include "proof.h"
#include <sched.h>
#include <signal.h>

enum { AREA = 1 << 17, BELOW = 1 << 16 };
static unsigned char area[AREA] __attribute__((aligned(64))), out[16];
static char stack[1 << 15] __attribute__((aligned(16)));
static volatile long got;

static int body(void *unused) {
    (void)unused;
    got = syscall(SYS_getrandom, out, sizeof out, 0);
    syscall(SYS_exit, 0);
    return 0;
}

int main(void) {
    prove();
    static const unsigned char fills[] = {0, 1, 0x55, 0xff};
    for (unsigned f = 0; f < sizeof fills; f++) {
        /* The thread that clones is moved. */
        for (int i = 0; i < 2000; i++)
            CHECK(getrandom(out, sizeof out, 0) == sizeof out);
        memset(area, fills[f], sizeof area);
        void **block = (void **)(area + BELOW);
        *block = block;
        memset(out, 0, sizeof out);
        int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SETTLS | SIGCHLD, status;
        CHECK(clone(body, stack + sizeof stack, flags, NULL, NULL, block, NULL) > 0);
        CHECK(wait(&status) > 0 && WIFEXITED(status) && got == sizeof out);
        static const unsigned char zero[16];
        CHECK(memcmp(out, zero, sizeof out)); /* odds 2^-128 */
        for (int i = 0; i < BELOW; i++)
            CHECK(area[i] == fills[f]);
    }
    return 0;
}
