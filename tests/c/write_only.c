/* A urandom that is only to be written to, on a standard descriptor: put there by
 * the program that started it, or by dup2. Every read fails with EBADF. */
#include "proof.h"
#include <fcntl.h>

static void check_refused(int fd)
{
    static char block[9000];
    for (int call = 0; call < 300; call++) {
        errno = 0;
        CHECK(read(fd, block, 16) == -1 && errno == EBADF);
        errno = 0;
        CHECK(read(fd, block, sizeof block) == -1 && errno == EBADF);
    }
}

int main(void)
{
    prove();
    check_refused(0);
    /* A readable one, opened, makes the library suspect the standard ones. */
    int readable = open("/dev/urandom", O_RDONLY);
    int write_only = open("/dev/urandom", O_WRONLY);
    int neither = open("/dev/urandom", O_PATH);
    CHECK(readable > 2 && write_only > 2 && neither > 2);
    CHECK(dup2(write_only, 0) == 0);
    check_refused(0);
    CHECK(dup2(neither, 1) == 1);
    check_refused(1);
    dprintf(2, "ok\n");
    return 0;
}
