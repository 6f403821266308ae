/* Half of the memory of one request faults, and the handler of that fault forks. Settles:
 * parent and child both finish the request, and nothing of it is the same in the two.
 *
 *   fault_fork getrandom|read|readv|preadv LEN
 *
 * Prints "no repeats" if the handler ran, "by the kernel" if the kernel answered instead:
 * it meets the bad half without a signal. Odds of a false alarm: 2^-54 a run, for at most
 * 2^10 words of 8 bytes. */
#include "proof.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/uio.h>

enum { PAGE = 4096, MOST = 2 * PAGE };

static unsigned char *memory;
static volatile pid_t child = -1;

static void on_fault(int signal)
{
    (void)signal;
    child = fork();
    if (mprotect(memory, MOST, PROT_READ | PROT_WRITE))
        _exit(95);
}

int main(int argc, char **argv)
{
    prove();
    CHECK(argc == 3);
    size_t len = strtoul(argv[2], NULL, 10), half = len / 2;
    CHECK(half >= 8 && half <= PAGE && len == 2 * half);
    memory = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *shared = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && shared != MAP_FAILED);
    unsigned char *first = memory + PAGE - half, *second = memory + PAGE;
    int fd = open("/dev/urandom", O_RDONLY);
    CHECK(fd >= 0);
    draw_heavily();
    CHECK(read(fd, first, half) == (ssize_t)half);
    CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
    CHECK(!mprotect(second, PAGE, PROT_NONE));

    struct iovec halves[] = {{first, half}, {second, half}};
    ssize_t got = !strcmp(argv[1], "getrandom") ? getrandom(first, len, 0)
        : !strcmp(argv[1], "read")              ? read(fd, first, len)
        : !strcmp(argv[1], "readv")             ? readv(fd, halves, 2)
                                                : preadv(fd, halves, 2, 0);
    if (child == -1) {
        CHECK(got == (ssize_t)half || (got == -1 && errno == EFAULT));
        puts("by the kernel");
        return 0;
    }
    CHECK(got == (ssize_t)len);
    if (child == 0) {
        memcpy(shared, first, len);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    size_t equal = 0;
    for (size_t at = 0; at + 8 <= len; at += 8)
        equal += memcmp(shared + at, first + at, 8) == 0;
    CHECK(equal == 0);
    puts("no repeats");
    return 0;
}
