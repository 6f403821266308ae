/* A call as careless code makes it. */
#ifndef MISALIGNED_H
#define MISALIGNED_H

/* function(a, b, c, d, e, f) by a `call` whose stack pointer is off by 8. The red
 * zone is stepped over; rbx, which a callee keeps, holds the old stack pointer. */
__attribute__((noinline)) static long call_misaligned(void *function, long a, long b, long c, long d, long e, long f)
{
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long answer = 0; /* al: how many vector registers a variadic function is given */
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "sub $256, %%rsp\n\t"
                     "and $-16, %%rsp\n\t"
                     "sub $8, %%rsp\n\t"
                     "call *%[function]\n\t"
                     "mov %%rbx, %%rsp"
                     : "+a"(answer), "+D"(a), "+S"(b), "+d"(c), "+c"(d), "+r"(r8), "+r"(r9)
                     : [function] "r"(function)
                     : "rbx", "r10", "r11", "memory", "cc");
    return answer;
}
#endif
