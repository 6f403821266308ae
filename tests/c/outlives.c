/* A user-level thread that outlives the kernel's thread it draws on.
 *
 * A handler leaves it in the middle of a draw, as the timer of a scheduler would; the
 * thread of the kernel ends; the next one, which is given the same stack and whatever the
 * first gave back, draws, goes on with the user-level thread, and draws again. Every place
 * among the first PLACES instructions of the draw is tried, in a process of its own; or,
 *
 *   outlives BEFORE STRIDE
 *
 * every STRIDE-th among the first LONGEST, after BEFORE draws: 380 lead to a refill in mode
 * `always`.
 *
 * No draw may get zeros, or bytes that another got: fewer than 2^18 blocks of 16 bytes, odds below
 * 2^-92. */
#include "proof.h"
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

enum { PLACES = 80, LONGEST = 7000, ROUNDS = 3 };
enum state { NOT_YET, DRAWING, LEFT, DONE };

static ucontext_t user, first, second;
static unsigned char stack[256 << 10], drawn[16];
static const char *begin, *end;
static volatile enum state state;
static volatile int step, stops_at;
static int before = 300, stride = 1, places = PLACES, rounds = ROUNDS;
static struct blocks *table;

static void set_trap_flag(void)
{
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void clear_trap_flag(void)
{
    __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *at = (const char *)registers[REG_RIP];
    if (state == DRAWING && at >= begin && at < end && ++step == stops_at) {
        state = LEFT;
        registers[REG_EFL] &= ~0x100;
        CHECK(swapcontext(&user, &first) == 0);
    }
}

static void body(void)
{
    state = DRAWING;
    set_trap_flag();
    ssize_t got = getrandom(drawn, sizeof drawn, 0);
    clear_trap_flag();
    CHECK(got == sizeof drawn);
    state = DONE;
    setcontext(&second);
}

static void draw_many(int blocks)
{
    unsigned char block[16];
    for (int i = 0; i < blocks; i++) {
        CHECK(getrandom(block, sizeof block, 0) == sizeof block);
        note_blocks(table, block, sizeof block);
    }
}

static void *begins(void *unused)
{
    draw_many(before);
    CHECK(getcontext(&user) == 0);
    user.uc_stack.ss_sp = stack;
    user.uc_stack.ss_size = sizeof stack;
    makecontext(&user, body, 0);
    volatile int over = 0;
    CHECK(getcontext(&second) == 0);
    if (!over++)
        CHECK(swapcontext(&first, &user) == 0);
    return unused;
}

static void *goes_on(void *unused)
{
    /* A little more than the first: whatever that one had before it is erased by now. */
    draw_many(before + 8);
    if (state == LEFT)
        CHECK(swapcontext(&second, &user) == 0);
    CHECK(state == DONE);
    note_blocks(table, drawn, sizeof drawn);
    draw_many(300);
    return unused;
}

int main(int argc, char **argv)
{
    prove();
    if (argc == 3) {
        before = atoi(argv[1]), stride = atoi(argv[2]);
        places = LONGEST, rounds = 1;
        CHECK(stride > 30);
    }
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    Dl_info info;
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "getrandom"), &info));
    table = make_blocks(PLACES * ROUNDS * 1000);
    int left = 0;
    begin = info.dli_fbase;
    end = begin + (hooked() ? 0x40000 : 0);
    for (stops_at = 1; stops_at <= places; stops_at += stride) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(20);
            for (int round = 0; round < rounds; round++) {
                pthread_t thread;
                state = NOT_YET;
                step = 0;
                CHECK(pthread_create(&thread, NULL, begins, NULL) == 0);
                CHECK(pthread_join(thread, NULL) == 0);
                CHECK(state == (hooked() && stops_at <= step ? LEFT : DONE));
                CHECK(pthread_create(&thread, NULL, goes_on, NULL) == 0);
                CHECK(pthread_join(thread, NULL) == 0);
            }
            _exit(step < stops_at ? 1 : 0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        if (hooked() && WEXITSTATUS(status) == 0)
            left++;
    }
    /* A draw of 16 bytes is that long at least. */
    CHECK(!hooked() || left > 30);
    CHECK(repeats(table) == 0);
    puts("ok");
    return 0;
}
