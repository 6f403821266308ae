/* The integers are even: every bound class of ownpool_uniform, every bit of the words.
 *
 * Odds. With x = 60 ln 2, a chi-square of d degrees is beyond d + 2 sqrt(d x) + 2x, or below
 * d - 2 sqrt(d x), with at most 2^-60 each (Laurent and Massart 2000, lemma 1), and a
 * share of n coins is off a half by more than sqrt((x + ln 2) / 2n) with at most 2^-60
 * (Hoeffding). 31 bounds and 96 bits: all together under 2^-52. Cells hold thousands, so the
 * statistic is near its limit distribution; 2^-40 leaves room for what it is not. */
#include "api.h"

#define DRAWS 400000
static const double x = 60 * 0.69314718055994531;

/* How many values below `bound` fall into `cell` of `cells`. */
static double width(uint64_t bound, uint64_t cells, uint64_t cell) {
    uint64_t from = (cell * bound + cells - 1) / cells, to = ((cell + 1) * bound + cells - 1) / cells;
    return (double)(to - from);
}

static void even(uint32_t bound) {
    static unsigned seen[128];
    uint64_t cells = bound < 128 ? bound : 128;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t value = ownpool_uniform(bound);
        CHECK(value < bound);
        seen[(uint64_t)value * cells / bound]++;
    }
    double sum = 0, degrees = (double)cells - 1;
    for (uint64_t cell = 0; cell < cells; cell++) {
        double expected = DRAWS * width(bound, cells, cell) / bound;
        sum += (seen[cell] - expected) * (seen[cell] - expected) / expected;
    }
    if (sum > degrees + 2 * sqrt(degrees * x) + 2 * x || sum < degrees - 2 * sqrt(degrees * x)) {
        dprintf(2, "bound %u: chi-square %.1f with %.0f degrees of freedom\n", bound, sum, degrees);
        _exit(1);
    }
}

static void bits(void) {
    static unsigned ones[96];
    for (int i = 0; i < DRAWS; i++) {
        uint64_t wide = ownpool_u64();
        uint32_t narrow = ownpool_u32();
        for (int bit = 0; bit < 64; bit++) ones[bit] += (unsigned)(wide >> bit & 1);
        for (int bit = 0; bit < 32; bit++) ones[64 + bit] += narrow >> bit & 1;
    }
    for (int bit = 0; bit < 96; bit++)
        CHECK(fabs((double)ones[bit] / DRAWS - 0.5) <= sqrt((x + 0.7) / (2.0 * DRAWS)));
}

int main(void) {
    static const uint32_t bounds[] = {
        /* small; powers of two; one beside them */
        2, 3, 5, 6, 7, 10, 52, 100, 127, 4, 8, 16, 64, 128, 256, 65536, 1u << 30, 1u << 31,
        255, 257, 1000, 65535, 65537, 1000003,
        /* where a third, a quarter or nearly half of all words must be drawn again; a plain
         * remainder would give the low values twice as often */
        3u << 29, 3u << 30, (1u << 31) + 1, (1u << 31) - 1, 0xaaaaaaabu,
        /* the largest */
        0xfffffffeu, 0xffffffffu};
    for (int i = 0; i < 1000; i++) CHECK(ownpool_uniform(0) == 0 && ownpool_uniform(1) == 0);
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) even(bounds[i]);
    bits();
    return 0;
}
