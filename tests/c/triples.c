/* Random requests (descriptor, pointer, length; offset, flags, vectors) by every form of
   read, each compared with what the kernel does with the same request by a system call
   of our own: result, errno, every byte of the result (unless random), every byte beside
   it. Arguments: how many requests, the seed of the choice. Left out: a pointer that
   faults after a good start, the one difference that is accepted. */
#include "reads.h"
#include <sys/eventfd.h>
#include <sys/socket.h>

static uint64_t state;
static uint64_t any(void) { /* splitmix64 */
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}
static uint64_t below(uint64_t n) { return any() % n; }
#define ONE_OF(list) ((list)[below(COUNT(list))])

/* Two equal areas, ours and the kernel's, each with a page behind it that is not there. */
enum { SIZE = 8192 };
static unsigned char *areas[2], *closed_page, *readonly_page;
static int probes; /* whether a bad pointer is seen beforehand */

/* ---- descriptors: the number under test and its twin ---- */

enum { URANDOM, FILE_, PIPE, SOCKET, EVENTFD, ZERO, NULL_, DIRECTORY, CLOSED, KINDS };
static int number, twins[KINDS][2], ends[KINDS][2];
static const unsigned char text[4096] = {[0 ... 4095] = 'A'};

static int high(int fd) { int up = RAW(SYS_fcntl, fd, F_DUPFD, 100, 0, 0, 0); RAW(SYS_close, fd, 0, 0, 0, 0, 0); return up; }
static void refill(int kind) {
    uint64_t one = 0x4141;
    for (int side = 0; side < 2; side++) {
        if (kind == PIPE || kind == SOCKET) while (write(ends[kind][side], text, 512) == 512) ;
        if (kind == EVENTFD && write(ends[kind][side], &one, 8) != 8) DIE("eventfd");
        if (kind == FILE_) lseek(twins[kind][side], 0, SEEK_SET);
    }
}
static void make(void) {
    char path[] = "/tmp/ownpool-triples-XXXXXX";
    int fd = mkstemp(path), p[2];
    if (write(fd, text, sizeof text) != sizeof text) DIE("write");
    for (int side = 0; side < 2; side++) {
        twins[URANDOM][side] = high(open("/dev/urandom", O_RDONLY));
        twins[FILE_][side] = high(open(path, O_RDONLY));
        if (pipe2(p, O_NONBLOCK)) DIE("pipe");
        fcntl(p[1], F_SETPIPE_SZ, 8192);
        twins[PIPE][side] = high(p[0]), ends[PIPE][side] = high(p[1]);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p)) DIE("socketpair");
        int small = 8192;
        setsockopt(p[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        twins[SOCKET][side] = high(p[0]), ends[SOCKET][side] = high(p[1]);
        twins[EVENTFD][side] = ends[EVENTFD][side] = high(eventfd(3, EFD_NONBLOCK));
        twins[ZERO][side] = high(open("/dev/zero", O_RDONLY));
        twins[NULL_][side] = high(open("/dev/null", O_RDONLY));
        twins[DIRECTORY][side] = high(open("/", O_RDONLY | O_DIRECTORY));
        twins[CLOSED][side] = 90;
    }
    unlink(path);
    RAW(SYS_close, fd, 0, 0, 0, 0, 0);
    refill(PIPE), refill(SOCKET);
}
/* The number is urandom, and hinted; then something else, without a hooked call. */
static void become(int kind) {
    RAW(SYS_close, number, 0, 0, 0, 0, 0);
    if (open("/dev/urandom", O_RDONLY) != number) DIE("the number moved");
    if (kind == CLOSED) RAW(SYS_close, number, 0, 0, 0, 0, 0);
    else if (kind != URANDOM) RAW(SYS_dup2, twins[kind][0], number, 0, 0, 0, 0);
}

/* ---- one request ---- */

static size_t some_len(void) {
    switch (below(16)) {
    case 0: return 0;
    case 1: return below(SIZE / 2);
    case 2: return below(1100);
    case 3: case 4: case 5: return below(300);
    default: return 1 + below(40);
    }
}
static size_t huge_len(void) {
    static const size_t lens[] = {0x7ffff000, 0x7ffff001, 0x7fffffff, 0x80000000, 1ul << 32, 1ul << 40, INT64_MAX, 1ul << 63, ~0ul - 4095, ~0ul};
    return ONE_OF(lens);
}
static void *wild(void) {
    static const uint64_t places[] = {0, 1, 4095, 4096, 65535, 1ul << 47, (1ul << 47) - 4096, 1ul << 63, ~0ul, ~0ul - 4095};
    return (void *)(below(2) ? ONE_OF(places) : any() | 1ul << 63);
}
static off_t some_offset(void) {
    static const off_t odd[] = {-1, -2, INT64_MIN, INT64_MAX, INT64_MAX - 1, INT64_MAX - 40, 4096, 4095};
    return below(4) ? (off_t)below(5000) : ONE_OF(odd);
}

/* A destination: its place in an area, or a place that is bad for both. */
struct dest { size_t at, len; int is_bad; void *bad; };
static void *place(const struct dest *d, int side) { return d->is_bad ? d->bad : areas[side] + d->at; }
static struct dest some_dest(int kind, int first) {
    struct dest d = {below(SIZE / 2), some_len(), 0, NULL};
    switch (below(24)) {
    case 0: d.is_bad = 1, d.bad = wild(), d.len = below(2) ? d.len : huge_len(); break;
    case 1: d.at = SIZE - d.len; break; /* ends where the world ends */
    case 2:
        /* A plain address where nothing can be written: known beforehand if there is
           room for an int, below the size from which fstat asks. */
        if (kind != URANDOM || (probes && first && d.len >= 4 && d.len < 8192)) d.is_bad = 1, d.bad = below(2) ? closed_page : readonly_page;
        break;
    case 3: if (kind != URANDOM || first == 2) d.at = SIZE - below(20), d.len = 0x7ffff001 + (huge_len() & 0xffffff); break;
    }
    return d;
}

static unsigned long by_form[COUNT(forms)], errors, total_done;

static void request(int kind, int round) {
    int form = below(COUNT(forms)), count = 1, in[2] = {number, twins[kind][1]};
    off_t offset = some_offset();
    int flags = form >= 9 && below(4) == 0 ? (int)(below(4) ? 1u << below(32) : any()) : 0;
    struct dest dests[1025];
    static struct iovec lists[2][1025];
    const struct iovec *list[2] = {lists[0], lists[1]};
    long result[2];
    if (kind == URANDOM && below(8) == 0) { /* a number that never was anything */
        static const int numbers[] = {-1, 91, 65535, 65536, 1 << 20, INT32_MAX, INT32_MIN, -100};
        in[0] = in[1] = ONE_OF(numbers), kind = CLOSED;
    }
    if (forms[form].vectors) {
        count = below(24) ? 1 + (int)below(5) : below(4) ? 1 + (int)below(1024) : 0;
        for (int i = 0; i < count; i++) {
            dests[i] = some_dest(kind, i == 0);
            if (count > 8) dests[i] = (struct dest){below(SIZE / 2), below(5), 0, NULL};
        }
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < count; i++) lists[side][i] = (struct iovec){place(dests + i, side), dests[i].len};
        if (count == 0) {
            static const int counts_[] = {0, -1, 1025, INT32_MAX, INT32_MIN};
            count = ONE_OF(counts_);
            if (below(2)) list[0] = list[1] = wild(), count = below(2) ? 1 : count;
            if (count > 0 && list[0] == lists[0]) memset(lists, 0, sizeof lists);
        }
    } else {
        dests[0] = some_dest(kind, 2);
    }
    for (int side = 0; side < 2; side++) memset(areas[side], 0xc3, SIZE);

    /* the kernel, on the twin */
    void *p = place(dests, 1);
    size_t n = dests[0].len;
    switch (form) {
    case 0: case 1: result[1] = RAW(SYS_read, in[1], p, n, 0, 0, 0); break;
    case 2: case 3: case 4: case 5: result[1] = RAW(SYS_pread64, in[1], p, n, offset, 0, 0); break;
    case 6: result[1] = RAW(SYS_readv, in[1], list[1], count, 0, 0, 0); break;
    case 7: case 8: result[1] = RAW(SYS_preadv, in[1], list[1], count, offset, 0, 0); break;
    default: result[1] = RAW(SYS_preadv2, in[1], list[1], count, offset, offset == -1 ? -1 : 0, flags); break;
    }
    /* ours */
    int keep = 1 + (int)below(200);
    p = place(dests, 0), errno = keep;
    switch (form) {
    case 0: result[0] = read(in[0], p, n); break;
    case 1: result[0] = __read_chk(in[0], p, n, n + below(2) * (~0ul - n)); break;
    case 2: result[0] = pread(in[0], p, n, offset); break;
    case 3: result[0] = pread64(in[0], p, n, offset); break;
    case 4: result[0] = __pread_chk(in[0], p, n, offset, n); break;
    case 5: result[0] = __pread64_chk(in[0], p, n, offset, ~0ul); break;
    case 6: result[0] = readv(in[0], list[0], count); break;
    case 7: result[0] = preadv(in[0], list[0], count, offset); break;
    case 8: result[0] = preadv64(in[0], list[0], count, offset); break;
    case 9: case 11: result[0] = preadv2(in[0], list[0], count, offset, flags); break;
    default: result[0] = preadv64v2(in[0], list[0], count, offset, flags); break;
    }
    int error = errno;
    if (result[0] < 0 ? result[1] != -error : result[1] != result[0] || error != keep)
        DIE("request %d, %s of kind %d (fd %d), %zu bytes at %p, %d vectors, offset %ld, flags %x: %ld (%d), the kernel says %ld", round, forms[form].name, kind, in[0], n, p, count, (long)offset, flags, result[0], error, result[1]);
    /* Random bytes differ: both are blanked where the result tells that they are. */
    if (kind == URANDOM && result[0] > 0) {
        size_t left = result[0];
        for (int i = 0; left; i++) {
            size_t now = dests[i].len < left ? dests[i].len : left;
            for (int side = 0; side < 2; side++) memset(areas[side] + dests[i].at, 0, now);
            left -= now;
        }
    }
    if (memcmp(areas[0], areas[1], SIZE)) DIE("request %d, %s of kind %d, %zu bytes: other bytes than the kernel's", round, forms[form].name, kind, n);
    by_form[form]++, errors += result[0] < 0, total_done++;
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1000000;
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 20150407;
    printf("seed %llu\n", (unsigned long long)state);
    fflush(stdout);
    for (int side = 0; side < 2; side++) {
        areas[side] = mmap(0, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(areas[side] + SIZE, 4096, PROT_NONE);
    }
    closed_page = mmap(0, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    readonly_page = mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    probes = !filtered();
    make();
    number = open("/dev/urandom", O_RDONLY);
    for (long done = 0; done < rounds;) {
        int kind = below(2) ? URANDOM : (int)below(KINDS);
        become(kind);
        for (int more = kind == URANDOM ? 8 : 1 + (int)below(3); more && done < rounds; more--) request(kind, done++);
        if (kind != URANDOM && below(8) == 0) refill(kind);
    }
    printf("%lu requests, %lu refused, hook %s, served %lu\n", total_done, errors, hooked() ? "present" : "absent", (unsigned long)counts().private_calls);
    return 0;
}
