/* The ABI: changing one of these numbers breaks programs that are compiled
 * already, and must change the soname. The struct may grow at its end: then the last
 * line changes, and only that. */
#include "api.h"
#ifdef __cplusplus
#define SAME(what, number) static_assert((what) == (number), #what)
#else
#define SAME(what, number) _Static_assert((what) == (number), #what)
#endif

#define AT(field, offset)                                                           \
    SAME(offsetof(struct ownpool_stats, field), offset);                            \
    SAME(sizeof(((struct ownpool_stats *)0)->field), 8)

AT(threads_moved, 0);
AT(kernel_calls, 8);
AT(kernel_bytes, 16);
AT(private_calls, 24);
AT(private_bytes, 32);
AT(would_move_threads, 40);
AT(would_move_calls, 48);
AT(would_move_bytes, 56);
AT(refills, 64);
AT(reseeds, 72);
SAME(sizeof(struct ownpool_stats), 80);

/* The exact types: a pointer of another type does not initialize these. */
int (*const fill)(void *, size_t) = ownpool_fill;
ssize_t (*const getrandom_)(void *, size_t, unsigned) = ownpool_getrandom;
uint32_t (*const u32)(void) = ownpool_u32;
uint64_t (*const u64)(void) = ownpool_u64;
uint32_t (*const uniform)(uint32_t) = ownpool_uniform;
void (*const reseed)(void) = ownpool_reseed;
int (*const stats)(struct ownpool_stats *, size_t) = ownpool_stats;
int (*const set_mode)(const char *) = ownpool_set_mode;
const char *(*const mode)(void) = ownpool_mode;
const char *(*const version)(void) = ownpool_version;

int main(void) {
    char built[64];
    snprintf(built, sizeof built, "%d.%d.%d", OWNPOOL_VERSION_MAJOR, OWNPOOL_VERSION_MINOR,
             OWNPOOL_VERSION_PATCH);
    CHECK(strcmp(built, OWNPOOL_VERSION) == 0);
    CHECK(strncmp(version(), "ownpool " OWNPOOL_VERSION " (", sizeof "ownpool " OWNPOOL_VERSION " (" - 1) == 0);
    CHECK(fill && getrandom_ && u32 && u64 && uniform && reseed && stats && set_mode && mode);
    return 0;
}
