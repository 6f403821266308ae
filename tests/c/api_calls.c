/* Every function: results, errors, errno, counts. Started in mode auto with no other
 * setting, and with the mode that the library starts in as its argument; one more argument
 * asks for the long fill too. */
#include "api.h"
#include <sys/mman.h>
#include <sys/random.h>

static unsigned char big[3 << 20];

/* That every stretch of 32 bytes is not zeros fails by chance with 2^-256 each. */
static int filled(const unsigned char *bytes, size_t len) {
    static const unsigned char zeros[32] = {0};
    for (size_t at = 0; at + 32 <= len; at += 32)
        if (memcmp(bytes + at, zeros, 32) == 0) return 0;
    return 1;
}

static void fills(void) {
    /* Every length around the edges of buffer, stride and request, with guards. */
    static const size_t lengths[] = {1,    2,    3,    7,    8,    15,    16,    31,     32,
                                     33,   63,   64,   255,  256,  1023,  1024,  1025,   3039,
                                     3040, 3041, 4096, 4097, 8191, 16384, 65537, 1 << 20};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t len = lengths[i];
        memset(big, 0xa5, len + 64);
        errno = 4711;
        CHECK(ownpool_fill(big + 32, len) == 0);
        CHECK(errno == 4711);
        for (size_t j = 0; j < 32; j++) CHECK(big[j] == 0xa5 && big[32 + len + j] == 0xa5);
        /* 0xa5 left at the end of many bytes: 32 of them by chance, 2^-256. */
        if (len >= 32) {
            size_t left = 0;
            while (left < 32 && big[32 + len - 1 - left] == 0xa5) left++;
            CHECK(left < 32 && filled(big + 32, len));
        }
    }
    errno = 4711;
    CHECK(ownpool_fill(NULL, 0) == 0 && ownpool_fill((void *)1, 0) == 0 && errno == 4711);
    CHECK(ownpool_fill(NULL, 1) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(ownpool_fill((void *)4096, 1 << 20) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(ownpool_fill((void *)-4096, 16) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(ownpool_fill(big, (size_t)-1) == -1 && errno == EFAULT);
}

static void longer_than_any_request(void) {
    /* More than MAX_RW_COUNT, into memory that is the same 2 MiB again and again. */
    size_t window = 2 << 20, len = ((size_t)1 << 31) + window;
    int fd = memfd_create("window", 0);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)window) == 0);
    unsigned char *at = (unsigned char *)mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(at != MAP_FAILED);
    for (size_t done = 0; done < len; done += window)
        CHECK(mmap(at + done, window, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED);
    struct ownpool_stats before = counts();
    CHECK(ownpool_fill(at, len) == 0);
    CHECK(counts().private_bytes - before.private_bytes == len);
    CHECK(filled(at, window));
    munmap(at, len);
    close(fd);
}

static void getrandoms(void) {
    CHECK(ownpool_set_mode("always") == 0);
    errno = 4711;
    CHECK(ownpool_getrandom(big, 32, 0) == 32 && filled(big, 32));
    CHECK(ownpool_getrandom(big, 32, GRND_NONBLOCK) == 32);
    CHECK(ownpool_getrandom(big, 32, GRND_RANDOM) == 32);
    CHECK(ownpool_getrandom(big, 32, 4 /* GRND_INSECURE */) == 32);
    CHECK(ownpool_getrandom(big, 1 << 20, 0) == 1 << 20);
    CHECK(ownpool_getrandom(NULL, 0, 0) == 0 && errno == 4711);
    /* As the kernel answers the same arguments. */
    CHECK(ownpool_getrandom(big, 32, 8) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(ownpool_getrandom(big, 32, 4 | GRND_RANDOM) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(ownpool_getrandom(NULL, 32, 0) == -1 && errno == EFAULT);
    errno = 0;
    CHECK(ownpool_getrandom((void *)-4096, 32, 0) == -1 && errno == EFAULT);
    CHECK(ownpool_set_mode("auto") == 0);
}

/* Who answers ownpool_getrandom in this mode, and that it is counted so. */
static void answered(const char *mode, int privately, int would_move) {
    CHECK(ownpool_set_mode(mode) == 0 && strcmp(ownpool_mode(), mode) == 0);
    struct ownpool_stats before = counts();
    for (int i = 0; i < 1000; i++) CHECK(ownpool_getrandom(big, 16, 0) == 16);
    struct ownpool_stats after = counts();
    uint64_t private_calls = after.private_calls - before.private_calls;
    uint64_t kernel_calls = after.kernel_calls - before.kernel_calls;
    CHECK(after.private_bytes - before.private_bytes == 16 * private_calls);
    CHECK(after.kernel_bytes - before.kernel_bytes == 16 * kernel_calls);
    /* The first call after a change of mode is answered by the kernel. */
    CHECK(privately ? private_calls >= 999 - 128 : private_calls == 0);
    if (strcmp(mode, "off") != 0) CHECK(private_calls + kernel_calls == 1000);
    CHECK((after.would_move_calls > before.would_move_calls) == would_move);
}

static void modes(const char *first) {
    static const char *const no_modes[] = {"", "Auto", "auto ", "automatic", "on", "1"};
    CHECK(strcmp(ownpool_mode(), first) == 0);
    errno = 4711;
    CHECK(ownpool_set_mode(first) == 0 && errno == 4711);
    for (size_t i = 0; i < sizeof no_modes / sizeof *no_modes; i++) {
        errno = 0;
        CHECK(ownpool_set_mode(no_modes[i]) == -1 && errno == EINVAL);
    }
    errno = 0;
    CHECK(ownpool_set_mode(NULL) == -1 && errno == EINVAL && strcmp(ownpool_mode(), first) == 0);
    answered("off", 0, 0);
    answered("observe", 0, 1);
    answered("always", 1, 0);
    answered("auto", 1, 0);
    /* ownpool_fill and the integers do not ask the mode. */
    CHECK(ownpool_set_mode("off") == 0);
    struct ownpool_stats before = counts();
    uint64_t sum = 0;
    for (int i = 0; i < 100; i++) {
        CHECK(ownpool_fill(big, 16) == 0);
        sum += ownpool_u32() + ownpool_u64() + ownpool_uniform(10);
    }
    struct ownpool_stats after = counts();
    /* The first after a change of mode may be one that the kernel answers. */
    CHECK(after.private_calls - before.private_calls >= 399 && sum != 0);
    CHECK(ownpool_set_mode("auto") == 0);
}

static void stats(void) {
    struct ownpool_stats now = counts();
    CHECK(now.private_calls > 0 && now.kernel_calls > 0 && now.refills > 0 && now.reseeds > 0);
    CHECK(now.threads_moved == 1);
    /* Smaller and larger than this library's struct, to the byte. */
    static uint64_t words[40];
    unsigned char *room = (unsigned char *)words;
    for (size_t size = 0; size <= sizeof words - 16; size++) {
        memset(room, 0xa5, sizeof words);
        errno = 4711;
        int done = ownpool_stats((struct ownpool_stats *)(words + 1), size);
        size_t written = size < 8 ? 0 : size;
        CHECK(size < 8 ? done == -1 && errno == EINVAL : done == 0 && errno == 4711);
        for (size_t i = 0; i < 8; i++) CHECK(room[i] == 0xa5);
        size_t known = written < sizeof now ? written : sizeof now;
        CHECK(memcmp(room + 8, &now, known) == 0);
        for (size_t i = known; i < written; i++) CHECK(room[8 + i] == 0);
        for (size_t i = 8 + written; i < sizeof words; i++) CHECK(room[i] == 0xa5);
    }
    errno = 0;
    CHECK(ownpool_stats(NULL, sizeof now) == -1 && errno == EINVAL);
    /* A reseed is counted, by the next draw. */
    ownpool_reseed();
    CHECK(counts().reseeds == now.reseeds);
    for (int i = 0; i < 2; i++) CHECK(ownpool_fill(big, 16) == 0);
    CHECK(counts().reseeds > now.reseeds);
}

int main(int argc, char **argv) {
    modes(argc > 1 ? argv[1] : "auto");
    fills();
    getrandoms();
    stats();
    if (argc > 2) longer_than_any_request();
    errno = 4711;
    CHECK(strstr(ownpool_version(), "ownpool ") == ownpool_version() && errno == 4711);
    return 0;
}
