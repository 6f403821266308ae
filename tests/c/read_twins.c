/* Every name of this entry against the kernel's own answer to the same request, by a
   system call that no library sees: results, errno, modes, flags, and every byte beside
   the result. Prints how many requests had to be served, how many may have been, and how
   many were. */
#include "reads.h"
#include <sys/prctl.h>
#include <sys/socket.h>

static unsigned long must, may, done;

/* ---- opens ---- */

static int f_fopen(const char *path, int flags, unsigned mode) { FILE *f = fopen(path, "r"); (void)flags, (void)mode; return f ? fileno(f) : -1; }
static int f_fopen64(const char *path, int flags, unsigned mode) { FILE *f = fopen64(path, "r"); (void)flags, (void)mode; return f ? fileno(f) : -1; }
static int f_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }
static int f_open64(const char *path, int flags, unsigned mode) { return open64(path, flags, mode); }
static int f_openat(const char *path, int flags, unsigned mode) { return openat(AT_FDCWD, path, flags, mode); }
static int f_openat64(const char *path, int flags, unsigned mode) { return openat64(AT_FDCWD, path, flags, mode); }
static int f_open_2(const char *path, int flags, unsigned mode) { (void)mode; return __open_2(path, flags); }
static int f_open64_2(const char *path, int flags, unsigned mode) { (void)mode; return __open64_2(path, flags); }
static int f_openat_2(const char *path, int flags, unsigned mode) { (void)mode; return __openat_2(AT_FDCWD, path, flags); }
static int f_openat64_2(const char *path, int flags, unsigned mode) { (void)mode; return __openat64_2(AT_FDCWD, path, flags); }
static const struct opener { const char *name; int (*call)(const char *, int, unsigned); int takes_mode, plain_only; } openers[] = {
    {"open", f_open, 1, 0}, {"open64", f_open64, 1, 0}, {"openat", f_openat, 1, 0}, {"openat64", f_openat64, 1, 0},
    {"__open_2", f_open_2, 0, 0}, {"__open64_2", f_open64_2, 0, 0}, {"__openat_2", f_openat_2, 0, 0}, {"__openat64_2", f_openat64_2, 0, 0},
    {"fopen", f_fopen, 0, 1}, {"fopen64", f_fopen64, 0, 1},
};

static void compare_open(const struct opener *by, const char *path, int flags, unsigned mode) {
    char made[64] = "";
    long kernel = RAW(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode, 0, 0);
    struct stat one, two;
    int want_fl = 0, want_fd = 0;
    if (kernel >= 0) {
        fstat(kernel, &one), want_fl = fcntl(kernel, F_GETFL), want_fd = fcntl(kernel, F_GETFD);
        RAW(SYS_close, kernel, 0, 0, 0, 0, 0);
        if ((flags & O_CREAT) && (uintptr_t)path > 65536 && !strncmp(path, "./new", 5)) unlink(strcpy(made, path));
    }
    errno = 77;
    int got = by->call(path, flags, mode), error = errno;
    if (got < 0 ? kernel != -error : kernel != got) DIE("%s of %s, flags %o: %d (%d), the kernel says %ld", by->name, (uintptr_t)path > 65536 ? path : "?", flags, got, error, kernel);
    if (got >= 0) {
        fstat(got, &two);
        if (one.st_mode != two.st_mode) DIE("%s: mode %o, not %o", by->name, two.st_mode, one.st_mode);
        if (!by->plain_only && (fcntl(got, F_GETFL) != want_fl || fcntl(got, F_GETFD) != want_fd)) DIE("%s: flags of %o", by->name, flags);
        if (!by->plain_only && error != 77) DIE("%s: errno became %d", by->name, error);
        RAW(SYS_close, got, 0, 0, 0, 0, 0);
        if (*made) unlink(made);
    }
    done++;
}

static void opens(void) {
    static const int flags[] = {O_RDONLY, O_WRONLY, O_RDWR, 3, O_CLOEXEC, O_NONBLOCK, O_RDWR | O_NONBLOCK | O_CLOEXEC, O_PATH, O_DIRECTORY, O_NOFOLLOW, O_TRUNC | O_WRONLY, O_APPEND, O_SYNC, O_NOCTTY, O_NOATIME, O_DIRECT};
    static const char *const paths[] = {"/dev/urandom", "/dev/random", "/dev/../dev//urandom", "/proc/self/root/dev/urandom", "/dev/urandom/", "/dev/zero", "/dev/null", "/", "", "random", "no/random", "/dev/xrandom", (char *)1, NULL, (char *)-4096};
    umask(022);
    for (int o = 0; o < COUNT(openers); o++) {
        for (int p = 0; p < COUNT(paths); p++)
            for (int f = 0; f < COUNT(flags); f++)
                if (!openers[o].plain_only || (f == 0 && (uintptr_t)paths[p] > 65536 && (intptr_t)paths[p] > 0)) compare_open(openers + o, paths[p], flags[f], 0);
        if (openers[o].takes_mode)
            for (unsigned mode = 0; mode <= 07777; mode += 0111) {
                compare_open(openers + o, "./new-random", O_CREAT | O_RDWR, mode);
                compare_open(openers + o, "./new", O_CREAT | O_EXCL | O_WRONLY, mode);
                compare_open(openers + o, ".", O_TMPFILE | O_RDWR, mode);
            }
    }
    char edge[8192 + 16], *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page + 4096, 4096, PROT_NONE);
    memset(edge, '/', sizeof edge);
    strcpy(edge + 4000, "dev/urandom"); /* 4,011 bytes, fewer than PATH_MAX */
    for (int o = 0; o < COUNT(openers); o++) {
        compare_open(openers + o, edge, 0, 0);
        compare_open(openers + o, strcpy(page + 4096 - 13, "/dev/urandom"), 0, 0); /* the NUL is the page's last byte */
        page[4095] = 'm'; /* no NUL before the end of the world */
        if (!openers[o].plain_only) compare_open(openers + o, page + 4096 - 13, 0, 0);
    }
    /* openat below a directory */
    int dev = open("/dev", O_RDONLY | O_DIRECTORY);
    int in = openat(dev, "urandom", O_RDONLY), in64 = openat64(dev, "urandom", O_RDONLY);
    char byte;
    if (in < 0 || in64 < 0 || read(in, &byte, 1) != 1 || read(in64, &byte, 1) != 1) DIE("openat below /dev");
    may += 2;
    close(in), close(in64), close(dev);
}

/* ---- reads ---- */

enum { SIZE = 1 << 16, EDGE = 64 };
static unsigned char area[EDGE + SIZE + EDGE];
static struct descriptor { const char *name; int fd, urandom; unsigned char fill; } fds[16];
static int fd_count;
static void add(const char *name, int fd, int urandom) { fds[fd_count++] = (struct descriptor){name, fd, urandom, 0}; }

static void paint(void) { memset(area, 0xc3, sizeof area); }
static void judge(const char *what, const struct descriptor *d, ssize_t got, int error, long kernel, const unsigned char *dest, size_t len) {
    if (got < 0 ? kernel != -error : kernel != got) DIE("%s of %s, %zu bytes: %zd (%d), the kernel says %ld", what, d->name, len, got, error, kernel);
    if (got >= 0 && error != 77) DIE("%s of %s: errno became %d", what, d->name, error);
    if (dest) {
        const unsigned char *end = dest + (got > 0 ? got : 0);
        for (const unsigned char *at = area; at < area + sizeof area; at++)
            if ((at < dest || at >= end) && *at != 0xc3) DIE("%s of %s, %zu bytes: byte %td beside the result is written", what, d->name, len, at - dest);
        if (d->urandom && got >= 64 && !is_random(dest, 0xc3)) DIE("%s: not random", what);
    }
    done++;
}

static void reads(void) {
    static const size_t lens[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 3039, 3040, 3041, 4095, 4096, 4097, 16383, 16384, 16385, 65535, SIZE};
    static const off_t offsets[] = {0, 1, 4096, INT64_MAX - SIZE, INT64_MAX - 3, INT64_MAX, -1, -2, INT64_MIN};
    for (int x = 0; x < fd_count; x++)
        for (int f = 0; f < COUNT(forms); f++) {
            for (int l = 0; l < COUNT(lens); l++) {
                size_t len = lens[l], shift = l % 3;
                if (len + shift > SIZE) shift = 0;
                paint();
                long kernel = forms[f].kernel(fds[x].fd, area + EDGE, len, 0);
                paint();
                errno = 77;
                ssize_t got = forms[f].call(fds[x].fd, area + EDGE + shift, len, 0);
                judge(forms[f].name, fds + x, got, errno, kernel, area + EDGE + shift, len);
                /* A vector of no bytes (fewer than 4 in all) is the kernel's. */
                if (fds[x].urandom && len) *(forms[f].vectors && len < 4 ? &may : &must) += 1;
            }
            for (int o = 0; o < COUNT(offsets); o++) {
                long kernel = forms[f].kernel(fds[x].fd, area + EDGE, 100, offsets[o]);
                paint();
                errno = 77;
                ssize_t got = forms[f].call(fds[x].fd, area + EDGE, 100, offsets[o]);
                judge(forms[f].name, fds + x, got, errno, kernel, area + EDGE, 100);
                may += fds[x].urandom;
            }
            /* What the kernel refuses, whole or at its first byte. */
            static void *const bad[] = {NULL, (void *)1, (void *)4096, (void *)-1, (void *)-4096, (void *)(1ul << 47), (void *)(1ul << 63), (void *)((1ul << 47) - 4096)};
            static const size_t sizes[] = {4, 16, 1000, 0x7ffff000, 0x7ffff001, 1ul << 40, INT64_MAX, 1ul << 63, ~0ul};
            for (int b = 0; b < COUNT(bad); b++)
                for (int s = 0; s < COUNT(sizes); s++) {
                    long kernel = forms[f].kernel(fds[x].fd, bad[b], sizes[s], 0);
                    errno = 77;
                    ssize_t got = forms[f].call(fds[x].fd, bad[b], sizes[s], 0);
                    judge(forms[f].name, fds + x, got, errno, kernel, NULL, sizes[s]);
                }
        }
    /* A page that cannot be written to, below the size from which fstat asks. */
    char *page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (filtered()) return;
    for (int x = 0; x < fd_count; x++)
        for (int f = 0; f < COUNT(forms); f++)
            for (size_t len = 12; len < 4096; len += 61) {
                long kernel = forms[f].kernel(fds[x].fd, page, len, 0);
                errno = 77;
                ssize_t got = forms[f].call(fds[x].fd, page, len, 0);
                judge(forms[f].name, fds + x, got, errno, kernel, NULL, len);
            }
}

/* One readv of each family against the kernel's. */
static void compare_vectors(const struct descriptor *d, const struct iovec *list, int count, off_t offset, int flags, int plain) {
    struct iovec copy[1025];
    int keep = count > 0 && count <= 1025 && (intptr_t)list > 65536;
    if (keep) memcpy(copy, list, count * sizeof *list);
    for (int form = 0; form < 5; form++) {
        long kernel = form == 0 ? RAW(SYS_readv, d->fd, list, count, 0, 0, 0)
            : form < 3 ? RAW(SYS_preadv, d->fd, list, count, offset, 0, 0)
                       : RAW(SYS_preadv2, d->fd, list, count, offset, offset == -1 ? -1 : 0, flags);
        if (keep) memcpy((void *)list, copy, count * sizeof *list);
        errno = 77;
        ssize_t got = form == 0 ? readv(d->fd, list, count) : form == 1 ? preadv(d->fd, list, count, offset) : form == 2 ? preadv64(d->fd, list, count, offset)
            : form == 3 ? preadv2(d->fd, list, count, offset, flags) : preadv64v2(d->fd, list, count, offset, flags);
        int error = errno;
        if (keep) memcpy((void *)list, copy, count * sizeof *list);
        judge(form == 0 ? "readv" : form < 3 ? "preadv" : "preadv2", d, got, error, kernel, NULL, count);
        if (d->urandom) *(plain && (form < 3 || !flags) && (form == 0 || offset >= 0 || (form > 2 && offset == -1)) ? &must : &may) += 1;
    }
}

static void vectors(void) {
    static struct iovec many[1025], mixed[6];
    unsigned char *at = area + EDGE;
    for (int i = 0; i < 1025; i++) many[i] = (struct iovec){at + i, 1 + i % 7};
    for (int x = 0; x < fd_count; x++) {
        const struct descriptor *d = fds + x;
        static const int sizes[] = {1, 2, 8, 9, 1023, 1024};
        for (int i = 0; i < COUNT(sizes); i++) compare_vectors(d, many, sizes[i], 0, 0, 1);
        static const int wrong[] = {0, -1, 1025, INT32_MIN, INT32_MAX};
        for (int i = 0; i < COUNT(wrong); i++) compare_vectors(d, many, wrong[i], 0, 0, 0);
        for (int i = 0; i < 3; i++) compare_vectors(d, i == 0 ? NULL : i == 1 ? (struct iovec *)64 : (struct iovec *)-4096, 2, 0, 0, 0);
        /* vectors of no bytes first, amid and last; at no place at all */
        for (int empty = 0; empty < 4; empty++) {
            for (int i = 0; i < 4; i++) mixed[i] = (struct iovec){at + 100 * i, 50};
            mixed[empty] = (struct iovec){empty % 2 ? NULL : at, 0};
            compare_vectors(d, mixed, 4, 0, 0, 0);
        }
        /* refused in the first place, or in a later one */
        for (int i = 0; i < 4; i++) {
            static const struct iovec evil[] = {{NULL, 16}, {(void *)-4096, 16}, {(void *)(1ul << 47), 50}, {NULL, ~0ul}};
            mixed[0] = mixed[1] = (struct iovec){at, 50};
            mixed[i % 2] = evil[i];
            compare_vectors(d, mixed, 2, 0, 0, 0);
        }
        /* together more than one read gives */
        if (!d->urandom) {
            mixed[0] = mixed[1] = (struct iovec){at, 0x7ffff000};
            mixed[0].iov_base = NULL;
            compare_vectors(d, mixed, 2, 0, 0, 0);
        }
        /* the list itself is read into: the kernel has copied it first */
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 4; k++) mixed[k] = (struct iovec){at + 200 * k, 100};
            mixed[i] = (struct iovec){(char *)mixed + 8 * i, 40};
            compare_vectors(d, mixed, 4, 0, 0, 0);
        }
        /* offsets and flags */
        static const off_t offsets[] = {1, 4096, INT64_MAX - 100, INT64_MAX - 99, INT64_MAX, -1, -2, INT64_MIN};
        mixed[0] = (struct iovec){at, 60}, mixed[1] = (struct iovec){at + 60, 40};
        for (int i = 0; i < COUNT(offsets); i++) compare_vectors(d, mixed, 2, offsets[i], 0, i < 2);
        for (int bit = 0; bit < 32; bit++) compare_vectors(d, mixed, 2, bit % 2 ? 0 : -1, (int)(1u << bit), bit % 2);
    }
}

/* ---- checked forms end the program when the buffer is too small ---- */

static void overflow(int which, int fd) {
    static char room[64];
    fflush(NULL);
    int child = fork(), status;
    if (!child) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        signal(SIGABRT, SIG_DFL);
        switch (which) {
        case 0: __read_chk(fd, room, 65, 64); break;
        case 1: __pread_chk(fd, room, 65, 0, 64); break;
        case 2: __pread64_chk(fd, room, 65, 0, 64); break;
        case 3: __read_chk(fd, room, ~0ul, 64); break;
        case 4: __open_2("./new", O_CREAT | O_RDWR); break;
        case 5: __open64_2(".", O_TMPFILE | O_RDWR); break;
        case 6: __openat_2(AT_FDCWD, "./new", O_CREAT | O_RDWR); break;
        case 7: __openat64_2(AT_FDCWD, ".", O_TMPFILE | O_RDWR); break;
        }
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) DIE("checked form %d: status %x", which, status);
    done++;
}

/* ---- prctl ---- */

static void prctls(void) {
    static const int options[] = {PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_SECUREBITS, PR_GET_TIMERSLACK, PR_GET_NO_NEW_PRIVS, PR_GET_THP_DISABLE, -1, 9999};
    for (int i = 0; i < COUNT(options); i++) {
        long kernel = RAW(SYS_prctl, options[i], 0, 0, 0, 0, 0);
        errno = 77;
        int got = prctl(options[i], 0, 0, 0, 0), error = errno;
        if (got < 0 ? kernel != -error : kernel != got || error != 77) DIE("prctl %d: %d (%d), the kernel says %ld", options[i], got, error, kernel);
    }
    char name[17] = "";
    if (prctl(PR_SET_NAME, "fifth-argument", 0, 0, 0) || prctl(PR_GET_NAME, name, 0, 0, 0) || strcmp(name, "fifth-argument")) DIE("prctl: name %s", name);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 1, 0) != -1 || errno != EINVAL) DIE("prctl: the fourth argument is lost");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 1) != -1 || errno != EINVAL) DIE("prctl: the fifth argument is lost");
}

int main(void) {
    char file[] = "./file", bytes[4096];
    add("urandom", open("/dev/urandom", O_RDONLY), 1);
    add("urandom to write too", open64("/dev/urandom", O_RDWR), 1);
    add("urandom, nonblocking", openat(AT_FDCWD, "/dev/urandom", O_RDONLY | O_NONBLOCK | O_CLOEXEC), 1);
    add("urandom of a stream", fileno(fopen("/dev/urandom", "rb")), 1);
    add("write-only urandom", open("/dev/urandom", O_WRONLY), 0);
    add("urandom for ioctl alone", open("/dev/urandom", 3), 0);
    add("path of urandom", open("/dev/urandom", O_PATH), 0);
    add("random", open("/dev/random", O_RDONLY), 0);
    add("zero", open("/dev/zero", O_RDONLY), 0);
    add("null", open("/dev/null", O_RDONLY), 0);
    add("directory", open("/", O_RDONLY), 0);
    int fd = open(file, O_CREAT | O_RDWR, 0600);
    memset(bytes, 'A', sizeof bytes);
    if (write(fd, bytes, sizeof bytes) != sizeof bytes) DIE("write");
    lseek(fd, 0, SEEK_END); /* nothing to read at its own position */
    add("file", fd, 0);
    add("nothing", 300, 0);
    add("-1", -1, 0);
    add("far above", 1 << 20, 0);
    opens();
    struct counts before = counts();
    must = may = 0;
    reads();
    vectors();
    struct counts after = counts();
    for (int i = 0; i < 4; i++) overflow(i, fds[0].fd);
    for (int i = 4; i < 8; i++) overflow(i, -1);
    prctls();
    unlink(file);
    printf("%lu requests, hook %s, must %lu may %lu served %lu would %lu\n", done, hooked() ? "present" : "absent", must, may,
        (unsigned long)(after.private_calls - before.private_calls), (unsigned long)(after.would_calls - before.would_calls));
    return 0;
}
