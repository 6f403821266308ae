/* User-level threads on one thread of the kernel, preempted by a signal.
 *
 * A handler may leave for another context in the middle of a draw; that one draws,
 * is itself left in mid-draw, and the first goes on: both are under way at once.
 * Every pair of places among the first PLACES instructions is tried, by single
 * steps; the handler of the step changes contexts, as that of a timer would.
 *
 * Neither draw may give zeros, and the two must differ: 2^12 pairs of 8 bytes,
 * odds 2^-50. */
#include "proof.h"
#include <signal.h>
#include <ucontext.h>

enum { PLACES = 64 };
enum state { FIRST_DRAWS, SECOND_DRAWS, SECOND_WAITS, SECOND_GOES_ON, BOTH_DONE };

static ucontext_t first, second;
static unsigned char stack[256 << 10];
static volatile enum state state;
static volatile int step, first_stops_at, second_stops_at;
static uint64_t by_first, by_second;

static void set_trap_flag(void)
{
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void clear_trap_flag(void)
{
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void on_step(int signal)
{
    (void)signal;
    step++;
    if (state == FIRST_DRAWS && step == first_stops_at) {
        state = SECOND_DRAWS;
        step = 0;
        CHECK(swapcontext(&first, &second) == 0);
    } else if (state == SECOND_DRAWS && step == second_stops_at) {
        state = SECOND_WAITS;
        CHECK(swapcontext(&second, &first) == 0);
    }
}

static void draw_stepwise(uint64_t *word)
{
    set_trap_flag();
    ssize_t got = getrandom(word, sizeof *word, 0);
    clear_trap_flag();
    CHECK(got == sizeof *word);
}

static void second_body(void)
{
    draw_stepwise(&by_second);
    state = BOTH_DONE;
    setcontext(&first);
}

int main(void)
{
    prove();
    CHECK(signal(SIGTRAP, on_step) != SIG_ERR);
    draw_heavily();
    int pairs = 0;
    for (first_stops_at = 1; first_stops_at <= PLACES; first_stops_at++)
        for (second_stops_at = 1; second_stops_at <= PLACES; second_stops_at++) {
            by_first = by_second = 0;
            state = FIRST_DRAWS;
            step = 0;
            CHECK(getcontext(&second) == 0);
            second.uc_stack.ss_sp = stack;
            second.uc_stack.ss_size = sizeof stack;
            makecontext(&second, second_body, 0);
            draw_stepwise(&by_first);
            if (state == SECOND_WAITS) {
                state = SECOND_GOES_ON;
                CHECK(swapcontext(&first, &second) == 0);
                pairs++;
            }
            CHECK(by_first != 0);
            if (state == BOTH_DONE)
                CHECK(by_second != 0 && by_second != by_first);
        }
    /* Most draws are longer than a dozen instructions, with the library or without. */
    CHECK(pairs > 12 * 12);
    puts("ok");
    return 0;
}
