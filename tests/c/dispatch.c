/* Draws heavily, confines itself by syscall user dispatch (Linux 5.11: prctl 59, switched off
 * again at once, which changes nothing for the library), then draws and reads again. */
#include "proof.h"
#include <fcntl.h>
#include <sys/prctl.h>

int main(int argc, char **argv) {
    prove();
    unsigned char bytes[16];
    int fd = open("/dev/urandom", O_RDONLY);
    for (int i = 0; i < 2000; i++)
        CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes && read(fd, bytes, sizeof bytes) == sizeof bytes);
    if (argc > 1 && *argv[1] == 's')
        syscall(SYS_prctl, 59, 0, 0, 0, 0);
    else
        prctl(59, 0, 0, 0, 0);
    for (int i = 0; i < 100; i++)
        CHECK(read(fd, bytes, sizeof bytes) == sizeof bytes);
    (void)argv;
    return 0;
}
