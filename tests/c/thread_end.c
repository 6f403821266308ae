/* A signal handler draws before each of the first 400 instructions of a moved thread's
 * end: into the library's destructor and through what it does before it erases the page.
 * (A little later libc blocks every signal, and a trap then ends the process.) */
#include "proof.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <ucontext.h>

enum { TRAP_FLAG = 0x100, STEPS = 400 };
static volatile int steps;

static void step(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    unsigned char bytes[16] = {0}, zero[16] = {0};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes || !memcmp(bytes, zero, 16)) _exit(4);
    if (++steps >= STEPS) ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void *run(void *argument) {
    unsigned char bytes[16];
    for (int i = 0; i < 5000; i++)
        if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) _exit(2);
    __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    return argument;
}

int main(void) {
    prove();
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        steps = 0;
        if (pthread_create(&thread, 0, run, 0) || pthread_join(thread, 0)) return 3;
        if (steps < 100) return 5;
    }
    return 0;
}
