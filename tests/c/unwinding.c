/* Settles: at every instruction that the library runs, a stack can be unwound to
 * main, as a profiler's signal does, whether the caller's stack was aligned or not;
 * and a thread that loops on misaligned calls is cancelled, cleanup handlers run.
 * (Not without the library: glibc 2.36 unwinds on the stack as it is, and dies.)
 * Built with frame pointers: only so is the frame of the misaligned call described. */
#include "misaligned.h"
#include "proof.h"
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

int main(void);

static unsigned char buffer[9000];
static int urandom;
static uintptr_t version, first, last; /* where the library's code lies */
static long stepped, lost;
static uintptr_t where;

static int find_code(struct dl_phdr_info *image, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int number = 0; number < image->dlpi_phnum; number++) {
        uintptr_t start = image->dlpi_addr + image->dlpi_phdr[number].p_vaddr;
        uintptr_t end = start + image->dlpi_phdr[number].p_memsz;
        if (image->dlpi_phdr[number].p_type == PT_LOAD && version >= start && version < end) {
            first = start;
            last = end;
        }
    }
    return 0;
}

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *found)
{
    if (_Unwind_GetRegionStart(context) != (uintptr_t)main)
        return _URC_NO_REASON;
    *(int *)found = 1;
    return _URC_END_OF_STACK;
}

static int reaches_main(void)
{
    int found = 0;
    _Unwind_Backtrace(look, &found);
    return found;
}

static void after_an_instruction(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    uintptr_t at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    static uintptr_t before;
    if (at < first || at >= last || at == before /* a repeated string instruction */)
        return;
    before = at;
    stepped++;
    if (!reaches_main()) {
        lost++;
        where = at - first;
    }
}

/* The trap flag; the red zone is stepped over. */
static void step(int on)
{
    if (on)
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "memory", "cc");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::: "memory", "cc");
}

static void draw(long len)
{
    long dest = (long)buffer, little = len > 256 ? 256 : len;
    step(1);
    long drawn = getrandom(buffer, len, 0);
    long called = syscall(SYS_getrandom, buffer, len, 0L);
    long got = read(urandom, buffer, len);
    int entropy = getentropy(buffer, little);
    long drawn_so = call_misaligned(getrandom, dest, len, 0, 0, 0, 0);
    long called_so = call_misaligned(syscall, SYS_getrandom, dest, len, 0, 0, 0);
    long got_so = call_misaligned(read, urandom, dest, len, 0, 0, 0);
    int entropy_so = call_misaligned(getentropy, dest, little, 0, 0, 0, 0);
    step(0);
    CHECK(drawn == len && called == len && got == len && entropy == 0);
    CHECK(drawn_so == len && called_so == len && got_so == len && entropy_so == 0);
}

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static void *loop(void *unused)
{
    static char block[3000];
    pthread_cleanup_push(clean, NULL);
    for (;;)
        if (hooked())
            call_misaligned(read, urandom, (long)block, sizeof block, 0, 0, 0);
        else
            CHECK(read(urandom, block, sizeof block) == sizeof block);
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    prove();
    version = (uintptr_t)dlsym(RTLD_DEFAULT, "ownpool_version");
    if (version)
        dl_iterate_phdr(find_code, NULL);
    urandom = open("/dev/urandom", O_RDONLY);
    struct sigaction action = {.sa_sigaction = after_an_instruction, .sa_flags = SA_SIGINFO};
    CHECK(urandom >= 0 && sigaction(SIGTRAP, &action, NULL) == 0 && reaches_main());
    draw(16); /* light */
    draw_heavily();
    draw(16);
    draw(3000);
    draw(9000);
    if (lost)
        dprintf(2, "%ld of %ld lost, the last at %#lx\n", lost, stepped, (unsigned long)where);
    CHECK(lost == 0 && (stepped > 1000) == hooked());
    for (int times = 0; times < 20; times++) {
        pthread_t id;
        void *result;
        CHECK(pthread_create(&id, NULL, loop, NULL) == 0);
        usleep(times * 100);
        CHECK(pthread_cancel(id) == 0 && pthread_join(id, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    dprintf(1, "ok, cleaned %d\n", cleaned > 0);
    return 0;
}
