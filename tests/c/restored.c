/* The page is put back as it was, as a thief of it or a restored snapshot would have it,
 * and the same requests are made again: how many bytes come twice?
 *
 *   restored LEN OTHER
 *
 * with requests of LEN bytes, one of OTHER before each. Prints how many bytes of the LEN
 * ones came twice. Kernel bytes must come from the system call: the vDSO's own state is
 * in the page too. */
#include "proof.h"

enum { MOST = 2 << 20, PAGE = 4096 };

/* The one state page, by the flags of its mapping (proc_pid_smaps(5)). */
static unsigned char *page(void) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long start = 0, from, to;
    unsigned char *found = NULL;
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            start = from;
        else if (!strncmp(line, "VmFlags:", 8) && (strstr(line, " dp") || strstr(line, " wf")))
            found = (unsigned char *)start;
    }
    fclose(maps);
    return found;
}

static unsigned char once[MOST], twice[MOST], other[1 << 20];

static size_t draw(unsigned char *out, size_t len, size_t between) {
    size_t done = 0;
    for (; done + len <= MOST; done += len) {
        CHECK(!between || getrandom(other, between, 0) == (ssize_t)between);
        CHECK(getrandom(out + done, len, 0) == (ssize_t)len);
    }
    return done;
}

int main(int argc, char **argv) {
    prove();
    CHECK(argc == 3);
    size_t len = strtoul(argv[1], NULL, 10), between = strtoul(argv[2], NULL, 10);
    unsigned char kept[PAGE];
    draw_heavily();
    unsigned char *state = page();
    CHECK(state);
    memcpy(kept, state, PAGE);
    size_t drawn = draw(once, len, between), equal = 0;
    memcpy(state, kept, PAGE);
    draw(twice, len, between);
    for (size_t at = 0; at < drawn; at += len)
        equal += memcmp(once + at, twice + at, len) ? 0 : len;
    printf("%zu\n", equal);
    return 0;
}
