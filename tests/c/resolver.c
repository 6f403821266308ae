/* A library whose IFUNC resolver calls a function that the library in front stands before. */
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static int one(void) { return 1; }
static int two(void) { return 2; }

static int (*choose(void))(void)
{
    char bytes[64];
    long got = 0;
    (void)bytes;
#if defined READ
    int fd = open("/proc/version", O_RDONLY);
    if (fd >= 0) {
        got = read(fd, bytes, sizeof bytes);
        close(fd);
    }
#elif defined GETRANDOM
    got = getrandom(bytes, 16, 0);
#elif defined ENTROPY
    got = getentropy(bytes, 16) == 0;
#elif defined SYSCALL
    got = syscall(SYS_getpid);
#elif defined PRCTL
    got = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) + 1;
#endif
    return got > 0 ? one : two;
}

__attribute__((visibility("hidden"))) int inner(void) __attribute__((ifunc("choose")));
static int (*volatile table[1])(void) = {inner};
int chosen(void);
int chosen(void) { return inner() == 1 && table[0]() == 1; }
