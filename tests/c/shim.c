/* Another library that stands in front of getrandom, as several tools do: counts
 * the calls that reach it, hands them on to the next, and prints how many at exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int calls;

ssize_t getrandom(void *dest, size_t len, unsigned flags)
{
    ssize_t (*next)(void *, size_t, unsigned) = (ssize_t (*)(void *, size_t, unsigned))dlsym(RTLD_NEXT, "getrandom");
    calls++;
    return next(dest, len, flags);
}

__attribute__((destructor)) static void print(void)
{
    dprintf(1, "shim %d\n", calls);
}
