/* ownpool_set_mode("off") with another ownpool_set_mode in a signal handler, before each
 * of its instructions in turn. Whichever change comes last, what is served agrees with
 * ownpool_mode(); and a change of mode has every generator reseeded. */
#include "api.h"
#include <signal.h>
#include <sys/random.h>
#include <ucontext.h>

enum { DRAWS = 200, LONGEST = 2000 };

static volatile int step, acts_at;
static const char *volatile wanted;

static void on_step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    if (++step == acts_at) {
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
        CHECK(ownpool_set_mode(wanted) == 0);
    }
}

static uint64_t private_draws(void) {
    unsigned char bytes[256];
    uint64_t before = counts().private_calls;
    for (int i = 0; i < DRAWS; i++) CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    return counts().private_calls - before;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_step;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    const char *modes[] = {"auto", "always", "vdso", "observe"};
    int acted = 0;
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++) {
        for (acts_at = 1; acts_at < LONGEST; acts_at++) {
            CHECK(ownpool_set_mode("always") == 0);
            CHECK(private_draws() >= DRAWS - 1); /* the kernel answers the first */
            wanted = modes[m];
            step = 0;
            __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
            int done = ownpool_set_mode("off");
            __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
            CHECK(done == 0);
            if (step < acts_at) break;
            acted++;
            int off = strcmp(ownpool_mode(), "off") == 0;
            CHECK(off || strcmp(ownpool_mode(), wanted) == 0);
            uint64_t drawn = private_draws();
            /* In vdso mode the report counts what the vDSO answers, if there is one. */
            if (off || !strcmp(wanted, "observe")) CHECK(drawn == 0);
            else if (strcmp(wanted, "vdso")) CHECK(drawn >= DRAWS - 1);
        }
        CHECK(acts_at < LONGEST);
    }
    CHECK(acted > 40);
    /* The next byte after a change comes from a generator that was reseeded for it. */
    CHECK(ownpool_set_mode("always") == 0);
    unsigned char byte;
    for (int i = 0; i < 2; i++) CHECK(getrandom(&byte, 1, 0) == 1);
    uint64_t reseeds = counts().reseeds;
    CHECK(getrandom(&byte, 1, 0) == 1 && counts().reseeds == reseeds);
    CHECK(ownpool_set_mode("always") == 0);
    CHECK(ownpool_u32() != 0 || ownpool_u32() != 0);
    CHECK(counts().reseeds == reseeds + 1);
    return 0;
}
