/* Names that sound like the device and are not, numbers that are too high for a hint, and
   handlers that read in the middle of a read. Prints how much was served. */
#include "reads.h"
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

static char text[8192];

/* A file of the letter A under a name that sounds random, read from its start. */
static void is_what_it_is(const char *name, int fd, int letter, int offsets) {
    for (int f = 0; f < COUNT(forms); f++)
        for (size_t len = 5; len <= 5000; len = len * 3 + 1) {
            char bytes[5200];
            memset(bytes, 0x5a, sizeof bytes);
            if (offsets) lseek(fd, 0, SEEK_SET);
            else if (write(fd, text, len) != (ssize_t)len) DIE("%s: write", name);
            ssize_t got = forms[f].call(fd, bytes, len, 0);
            if (got < 0 && !offsets && errno == ESPIPE) { /* drain it */
                if (read(fd, bytes, len) != (ssize_t)len) DIE("%s: drain", name);
                continue;
            }
            if (got != (ssize_t)len) DIE("%s, %s: %zd bytes of %zu", name, forms[f].name, got, len);
            for (size_t i = 0; i < sizeof bytes; i++)
                if (bytes[i] != (i < len ? letter : 0x5a)) DIE("%s, %s: byte %zu is %02x", name, forms[f].name, i, bytes[i]);
        }
}

static void decoys(void) {
    memset(text, 'A', sizeof text);
    mkdir("dev", 0755);
    const char *names[] = {"random", "urandom", "dev/urandom", ".urandom", "not-at-all-random"};
    for (int i = 0; i < COUNT(names); i++) {
        int fd = open(names[i], O_CREAT | O_RDWR, 0600);
        if (fd < 0 || write(fd, text, sizeof text) != sizeof text) DIE("%s", names[i]);
        /* opened again and again, as every form of open does */
        for (int n = 0; n < 3; n++) is_what_it_is(names[i], n == 0 ? fd : n == 1 ? open64(names[i], O_RDONLY) : fileno(fopen(names[i], "r")), 'A', 1);
    }
    if (symlink("/dev/zero", "zero-random") || symlink("urandom", "to-random") || mkfifo("fiforandom", 0600)) DIE("links");
    is_what_it_is("a link to zero", open("zero-random", O_RDONLY), 0, 1);
    is_what_it_is("a link to a file", open("to-random", O_RDONLY), 'A', 1);
    is_what_it_is("a fifo", open("fiforandom", O_RDWR | O_NONBLOCK), 'A', 0);
    mkdir("directory-random", 0755);
    int directory = open("directory-random", O_RDONLY);
    for (int f = 0; f < COUNT(forms); f++) if (forms[f].call(directory, text, 64, 0) != -1 || errno != EISDIR) DIE("a directory gives bytes");
    /* Devices are known by their numbers alone. */
    if (!mknod("zero-device-random", S_IFCHR | 0600, makedev(1, 5))) {
        int fd = open("zero-device-random", O_RDONLY); /* a file system may be mounted without devices */
        if (fd >= 0) is_what_it_is("a device of zeros", fd, 0, 1);
    }
    if (!mknod("block-random", S_IFBLK | 0600, makedev(1, 9))) {
        int fd = open("block-random", O_RDONLY);
        if (fd >= 0 && read(fd, text, 64) == 64 && is_random(text, 'A')) DIE("block device 1:9 is taken for the device");
    }
    if (!symlink("/dev/urandom", "real-random")) {
        int fd = open("real-random", O_RDONLY);
        uint64_t before = counts().private_calls;
        for (int f = 0; f < COUNT(forms); f++) if (forms[f].call(fd, text, 64, 0) != 64 || !is_random(text, 'A')) DIE("a link to the device");
        if (serving() && counts().private_calls - before != COUNT(forms)) DIE("a link to the device is not served");
    }
}

/* A number that is urandom, was asked about, and is another device now. */
static void hint_again(int number, int device) {
    int fresh = open("/dev/urandom", O_RDONLY);
    if (fresh != number) dup2(fresh, number), close(fresh);
    for (int n = 0; n < 70; n++) if (read(number, text, 64) != 64) DIE("before");
    if (dup2(device, number) != number) DIE("dup2");
}

/* A device that answers every ioctl with success, put on a number that was asked about before, gives
   what it gives by a system call of our own. */
static void devices_that_say_yes(void) {
    static const char *const names[] = {"/dev/btrfs-control", "/dev/null", "/dev/zero", "/dev/full"};
    for (int i = 0; i < COUNT(names); i++) {
        int number = open("/dev/urandom", O_RDONLY), device = open(names[i], O_RDONLY);
        if (device < 0) continue; /* not there, or not allowed */
        for (int f = 0; f < COUNT(forms); f++)
            for (size_t len = 4; len <= 8000; len *= 2) {
                static char ours[8192], kernels[8192]; /* of zeros: what it looks at first */
                memset(ours, 0, sizeof ours), memset(kernels, 0, sizeof kernels);
                hint_again(number, device);
                ssize_t expected = RAW(SYS_read, device, kernels, len, 0, 0, 0), got = forms[f].call(number, ours, len, 0);
                if (got != (expected < 0 ? -1 : expected) || (expected < 0 && errno != -expected)) DIE("%s, %s: %zd for %zd", names[i], forms[f].name, got, expected);
                if (memcmp(ours, kernels, sizeof ours)) DIE("%s, %s: other bytes", names[i], forms[f].name);
            }
        close(number), close(device);
    }
}

/* The same when every question so far went by fstat, with a buffer of other common bytes. */
static void large_reads_first(void) {
    int number = open("/dev/urandom", O_RDONLY), device = open("/dev/btrfs-control", O_RDONLY);
    for (int n = 0; n < 3; n++) if (read(number, text, sizeof text) != sizeof text) DIE("before");
    if (device >= 0 && dup2(device, number) == number) {
        memset(text, 0, sizeof text), memset(text, 0xff, 16);
        if (read(number, text, 16) != -1 || errno != EINVAL) DIE("a device that answers every ioctl is read as random");
    }
    close(number), close(device);
}

/* The path is not looked at again when a truncating open has pulled the rug from under it. */
static void a_path_that_goes(void) {
    int fd = open("own-path-random", O_CREAT | O_RDWR, 0600);
    char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || ftruncate(fd, 4096) || path == MAP_FAILED) DIE("a mapped path");
    strcpy(path, "own-path-random");
    int again = open(path, O_RDWR | O_TRUNC);
    if (again < 0) DIE("a truncating open");
    munmap(path, 4096), close(fd), close(again);
}

static void high_numbers(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    struct rlimit more = {200000, limit.rlim_max > 200000 ? limit.rlim_max : 200000};
    if (setrlimit(RLIMIT_NOFILE, &more)) return; /* not permitted here */
    int file = open("urandom", O_RDONLY), device = open("/dev/urandom", O_RDONLY);
    static const int numbers[] = {1023, 1024, 65535, 65536, 65537, 131072, 199999};
    for (int i = 0; i < COUNT(numbers); i++) {
        if (dup2(device, numbers[i]) != numbers[i]) DIE("dup2 to %d", numbers[i]);
        for (int f = 0; f < COUNT(forms); f++) if (forms[f].call(numbers[i], text, 64, 0) != 64 || !is_random(text, 'A')) DIE("number %d", numbers[i]);
        dup2(file, numbers[i]);
        is_what_it_is("a high number", numbers[i], 'A', 1);
        close(numbers[i]);
        if (read(numbers[i], text, 64) != -1 || errno != EBADF) DIE("number %d is closed", numbers[i]);
    }
}

/* ---- handlers that read while a read is under way ---- */

static int device, other;
static volatile unsigned long handled;
static volatile int bad;
static void handler(int signal) {
    static unsigned char bytes[2][64];
    int keep = errno;
    (void)signal;
    const struct form *form = forms + handled % COUNT(forms);
    if (form->call(device, bytes[handled % 2], 64, 0) != 64 || !is_random(bytes[handled % 2], 0) || !memcmp(bytes[0], bytes[1], 64)) bad = 1;
    char letter = 0;
    if (pread(other, &letter, 1, 0) != 1 || letter != 'A') bad = 2;
    handled++;
    errno = keep;
}

static void handlers(void) {
    device = open("/dev/urandom", O_RDONLY), other = open("dev/urandom", O_RDONLY);
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &act, NULL);
    struct itimerval every = {{0, 100}, {0, 100}}, never = {0};
    setitimer(ITIMER_REAL, &every, NULL);
    static unsigned char bytes[20000], last[64];
    for (unsigned long i = 0; handled < 3000 && i < 2000000; i++) {
        static const size_t lens[] = {64, 100, 3000, 20000};
        size_t len = lens[i % 4];
        memset(bytes, 0, len);
        ssize_t got = forms[i % COUNT(forms)].call(device, bytes, len, 0);
        /* The kernel looks at signals after each page. */
        if (got != (ssize_t)len && got < 4096) DIE("%s gives %zd bytes", forms[i % COUNT(forms)].name, got);
        for (size_t b = got; b < len; b++) if (bytes[b]) DIE("%s writes behind its count", forms[i % COUNT(forms)].name);
        if (!is_random(bytes, 'A') || !is_random(bytes + got - 64, 'A') || !memcmp(bytes, last, 64)) DIE("%s is not random", forms[i % COUNT(forms)].name);
        memcpy(last, bytes, 64);
        if (bad) DIE("the handler's read was wrong: %d", bad);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    if (handled < 100) DIE("only %lu signals", handled);
}

/* Absurd lengths do not turn the counts round. */
static void absurd_lengths(void) {
    int fd = open("/dev/urandom", O_RDONLY);
    static const size_t lens[] = {~0ul, 1ul << 63, 1ul << 40};
    for (int i = 0; i < COUNT(lens); i++) {
        uint64_t before = counts().kernel_bytes;
        if (read(fd, NULL, lens[i]) != -1 || getrandom(NULL, lens[i], 0) != -1) DIE("null is written to");
        if (counts().kernel_bytes - before > 2 * 0x7ffff000ul) DIE("length %zx is counted as more than there can be", lens[i]);
    }
    close(fd);
}

int main(void) {
    large_reads_first();
    decoys();
    devices_that_say_yes();
    a_path_that_goes();
    absurd_lengths();
    uint64_t before = counts().private_calls;
    high_numbers();
    handlers();
    printf("hook %s, served %lu\n", hooked() ? "present" : "absent", (unsigned long)(counts().private_calls - before));
    return 0;
}
