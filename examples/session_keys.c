/* Draws session keys and prints what that took: ownpool_fill, ownpool_uniform, ownpool_stats.
 *
 *     cc session_keys.c $(pkg-config --cflags --libs ownpool) && ./a.out 3
 */
#include <inttypes.h>
#include <ownpool.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int keys = argc > 1 ? atoi(argv[1]) : 3;
    for (int key = 0; key < keys; key++) {
        unsigned char bytes[32];
        if (ownpool_fill(bytes, sizeof bytes) != 0) {
            perror("ownpool_fill");
            return 1;
        }
        for (size_t i = 0; i < sizeof bytes; i++) printf("%02x", bytes[i]);
        /* Rekey at different times, so that peers do not all come at once. */
        printf(" rekey in %" PRIu32 " s\n", 3600 + ownpool_uniform(600));
    }

    struct ownpool_stats stats;
    if (ownpool_stats(&stats, sizeof stats) != 0) return 1;
    fprintf(stderr,
            "%s, mode %s: %" PRIu64 " private requests (%" PRIu64 " bytes), %" PRIu64
            " by the kernel, %" PRIu64 " reseeds\n",
            ownpool_version(), ownpool_mode(), stats.private_calls, stats.private_bytes,
            stats.kernel_calls, stats.reseeds);
    return 0;
}
