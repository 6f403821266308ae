/* One call of getrandom, with something happening before one of its instructions, for
 * each of them in turn. The trap flag records which instructions the call runs; after
 * that a breakpoint leads to the one that is wanted, and the trap flag on from there
 * where no breakpoint can be put (the vDSO).
 *
 *   single_step LIBRARY WHAT ACTION STRIDE OFFSET
 *
 * with every STRIDE-th instruction from OFFSET on. What a loop runs more than 100 times is
 * left out after that but for every 61st time (except by fork and forkdraw): reaching each
 * would take minutes, to see one more byte of a wiped run erased.
 *
 * WHAT is the call: takeN (N bytes from the buffer), refill256 (256 bytes across a refill), bulk2
 * (a refill, then two strides and a rest), bulk8, bulk20, move (the thread's first),
 * readv (of urandom, 60 bytes and 196, the second across a refill).
 * ACTION is what happens, in the handler of the trap:
 *   fork       a fork; both go on. In one pass: every instruction has its own child.
 *   forkdraw   the same, and the child draws in the handler first.
 *   both       fork, and parent and child draw in the handler
 *   draw       draw in the handler
 *   jump       siglongjmp away, then draw
 *   jumpfork   siglongjmp away, then fork, and both draw
 *   drop       MADV_DONTNEED on the state page
 *   dropdraw   the same, then draw in the handler
 *   out        MADV_PAGEOUT on the state page
 *   droplater  MADV_DONTNEED on the state page, and a draw in a handler before each of the
 *              later instructions in turn: what a draw between two steps of the call makes
 *              of a page that was lost before them
 *   look       nothing happens: what the caller's memory has, the state page must not have
 *              any more. In one pass. For calls by their length: takeN.
 * Checked: the call's result and errno; every 16 bytes of every answer are neither zero
 * nor what was there before (odds 2^-128 each), nor, for calls of up to 256 bytes, are
 * any 8 (fewer than 2^20 of those: 2^-43); no 16 bytes come twice, in whichever process,
 * in the call, a handler, or later (fewer than 2^22: odds below 2^-84).
 * Prints counts. Exit status 1: a check failed, and standard error names the
 * instruction.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { TF = 0x100, LONGEST = 1 << 18, TABLE = 1 << 22, PATTERN = 0xa5, SHOWN = 5 };
enum { OFF, RECORD, EACH, HUNT };
enum action { FORK, FORKDRAW, BOTH, DRAW, JUMP, JUMPFORK, DROP, DROPDRAW, OUT, DROPLATER, LOOK, ACTIONS };
static const char *const names[ACTIONS] = {"fork", "forkdraw", "both", "draw", "jump",
                                           "jumpfork", "drop", "dropdraw", "out", "droplater", "look"};

/* What all processes share. */
static struct shared {
    uint64_t trace[LONGEST];
    long seen[LONGEST]; /* how often an instruction has run by then */
    long length, went, acted, nopage, failures, blocks, fast, inherited, inherited_first;
    unsigned char table[TABLE][16];
    int where[TABLE];
} *shared;

static const char *what;
static enum action action;
static size_t len;
static int mode = OFF, plain_library;
static long stride, offset, current, target, anchored_at, hits, wanted_hits, stepping_over;
static long gap, later; /* droplater: how far behind, and where that is; 0: nowhere */
static unsigned char *anchor, anchor_byte, *page, *unread; /* unread ends there */
static volatile int in_child, acted;
static sigjmp_buf away;
static unsigned char dest[32 << 10], at_fork[32 << 10];
static int urandom = -1;
static struct iovec pieces[2] = {{dest, 60}, {dest + 60, 196}};

static long raw(long n, long a, long b, long c) {
    long r;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return r;
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *form, ...) {
    char text[256];
    va_list list;
    va_start(list, form);
    int end = vsnprintf(text, sizeof text - 1, form, list);
    va_end(list);
    if (__atomic_fetch_add(&shared->failures, 1, __ATOMIC_SEQ_CST) < SHOWN)
        dprintf(2, "%s, %s at instruction %ld of %ld%s: %.*s\n", what, names[action], current,
                shared->length, in_child ? ", in the child" : "", end, text);
    _exit(1);
}

/* Nothing but fresh bytes, none of which came before. */
static void check(const unsigned char *bytes, size_t n, const char *whose) {
    static const unsigned char zero[16];
    unsigned char old[16];
    memset(old, PATTERN, sizeof old);
    if (n <= 256)
        for (size_t at = 0; at + 8 <= n; at += 8)
            if (!memcmp(bytes + at, zero, 8) || !memcmp(bytes + at, old, 8))
                fail("%s: %s at %zu", whose, bytes[at] ? "unfilled" : "zeros", at);
    for (size_t at = 0; at + 16 <= n; at += 16) {
        if (!memcmp(bytes + at, zero, 16) || !memcmp(bytes + at, old, 16))
            fail("%s: %s at %zu", whose, bytes[at] ? "unfilled" : "zeros", at);
        /* Streams that are the same are the same everywhere: of the longer
           ones some blocks will do. */
        if (at / 16 % (n > 4096 ? 32 : n > 512 ? 8 : 1))
            continue;
        uint64_t hash;
        memcpy(&hash, bytes + at, 8);
        for (hash %= TABLE; memcmp(shared->table[hash], zero, 16); hash = (hash + 1) % TABLE)
            if (!memcmp(shared->table[hash], bytes + at, 16))
                fail("%s: bytes at %zu came before, at instruction %d", whose, at,
                     shared->where[hash]);
        memcpy(shared->table[hash], bytes + at, 16);
        shared->where[hash] = (int)current;
        if (++shared->blocks > TABLE / 4 * 3)
            fail("the table is full");
    }
}

static void draw(size_t n, const char *whose) {
    unsigned char own[1104];
    memset(own, PATTERN, sizeof own);
    errno = 77;
    if (getrandom(own, n, 0) != (ssize_t)n)
        fail("%s: wrong result", whose);
    if (errno != 77)
        fail("%s: errno changed", whose);
    check(own, n, whose);
}

/* Drops every state page there is, by the flags of its mapping (proc_pid_smaps(5)); or
   with no advice only finds it. */
static int drop(int advice) {
    static char text[256 << 10];
    long n, end = 0, fd = raw(SYS_open, (long)"/proc/self/smaps", O_RDONLY, 0);
    while ((n = raw(SYS_read, fd, (long)(text + end), (long)sizeof text - 1 - end)) > 0)
        end += n;
    raw(SYS_close, fd, 0, 0);
    text[end] = 0;
    int dropped = 0;
    unsigned long start = 0, stop = 0, a, b;
    for (char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2)
            start = a, stop = b;
        else if (!strncmp(line, "VmFlags:", 8)) {
            char *after = strchr(line, '\n'), *dp = strstr(line, " dp"), *wf = strstr(line, " wf");
            if ((dp && dp < after) || (wf && wf < after)) {
                page = (unsigned char *)start;
                long r = advice < 0 ? 0 : raw(SYS_madvise, (long)start, (long)(stop - start), advice);
                if (r < 0)
                    fail("madvise: %ld", r);
                dropped++;
            }
        }
    }
    return dropped;
}

/* No byte is with the caller and in the page at the same time. */
static void look(void) {
    for (size_t i = 0; i < len; i++)
        if (dest[i] != PATTERN && unread[i - len])
            fail("byte %zu is the caller's, and still in the page", i);
}

static void act(ucontext_t *context) {
    if (action == LOOK) {
        acted++;
        look();
        return;
    }
    if (action == DROPLATER) {
        acted++;
        if (!drop(MADV_DONTNEED))
            shared->nopage++;
        later = current + gap;
        context->uc_mcontext.gregs[REG_EFL] |= TF;
        return;
    }
    if (mode != EACH)
        mode = OFF, context->uc_mcontext.gregs[REG_EFL] &= ~TF;
    acted++;
    pid_t child = -1;
    if (action <= BOTH) {
        child = fork();
        if (child < 0)
            fail("fork: %d", errno);
        if (child == 0) {
            alarm(30);
            in_child = 1;
            memcpy(at_fork, dest, len);
            mode = OFF;
            context->uc_mcontext.gregs[REG_EFL] &= ~TF;
        }
    }
    if (action == DRAW || action == BOTH || (action == FORKDRAW && child == 0)) {
        draw(16, "handler");
        draw(1040, "handler");
    }
    if (action >= DROP && !drop(action == OUT ? MADV_PAGEOUT : MADV_DONTNEED))
        shared->nopage++;
    if (action == DROPDRAW)
        draw(16, "handler"), draw(1040, "handler");
    if (child > 0) {
        int status;
        if (waitpid(child, &status, 0) != child || status)
            fail("child: wait status %#x", status);
    }
    if (action == JUMP || action == JUMPFORK)
        siglongjmp(away, 1);
}

extern const unsigned char step_begin[], step_end[];

static void on_trap(int signal, siginfo_t *info, void *data) {
    (void)signal, (void)info;
    int before = errno;
    ucontext_t *context = data;
    greg_t *g = context->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)g[REG_RIP];
    if (at == step_end) {
        g[REG_EFL] &= ~TF;
        if (mode == RECORD)
            shared->length = current, shared->fast = 0;
        if (mode == EACH)
            shared->went = current;
        mode = OFF;
    } else if (at == step_begin) {
        if (mode == HUNT && anchor) {
            current = anchored_at;
            anchor_byte = *anchor, *anchor = 0xcc;
        } else if (mode != OFF) {
            current = 0;
            g[REG_EFL] |= TF;
        }
    } else if (anchor && at == anchor + 1 && *anchor == 0xcc) {
        *anchor = anchor_byte;
        g[REG_RIP]--;
        if (++hits == wanted_hits) {
            anchor = NULL;
            if (current == target)
                act(context);
            else
                g[REG_EFL] |= TF;
        } else {
            stepping_over = 1;
            g[REG_EFL] |= TF;
        }
    } else if (stepping_over) {
        stepping_over = 0;
        *anchor = 0xcc;
        g[REG_EFL] &= ~TF;
    } else if (mode == OFF) {
        g[REG_EFL] &= ~TF;
    } else {
        current++;
        if (mode == RECORD) {
            if (current >= LONGEST)
                fail("too long a call");
            shared->trace[current] = (uint64_t)at;
        } else if (later && current == later) {
            mode = OFF, later = 0, g[REG_EFL] &= ~TF;
            draw(16, "handler"); /* finds the page lost */
            draw(16, "handler"); /* seeds it, if it may */
        } else if (mode == EACH ? current % stride == offset % stride : current == target) {
            act(context);
        }
    }
    errno = before;
}

__attribute__((noinline)) static ssize_t stepped(void) {
    errno = 77;
    __asm__ volatile("int3\n.globl step_begin\nstep_begin:" ::: "memory");
    ssize_t result = urandom < 0 ? getrandom(dest, len, 0) : readv(urandom, pieces, 2);
    __asm__ volatile("int3\n.globl step_end\nstep_end:" ::: "memory");
    return result;
}

static unsigned long text_start, text_end;

/* The library's code becomes writable, for breakpoints. */
static void find_text(const char *library) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long start, end;
    char rights[5];
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, library) && sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 &&
            rights[2] == 'x') {
            text_start = start, text_end = end;
            if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC))
                perror("mprotect"), exit(2);
        }
    if (maps)
        fclose(maps);
    if (!text_start)
        fprintf(stderr, "%s is not loaded\n", library), exit(2);
}

/* The cheapest way to the target: an instruction of the library at or before it, and
   how often it runs until then. A breakpoint hit costs about as much as one step. */
static void aim(long index) {
    target = index, anchor = NULL, hits = 0, current = index;
    long best = index;
    for (long from = index; from > 0 && index - from < best; from--) {
        uint64_t address = shared->trace[from];
        if (address < text_start || address >= text_end)
            continue;
        long seen = shared->seen[from];
        if (2 * seen + index - from < best) {
            best = 2 * seen + index - from;
            anchor = (unsigned char *)address, wanted_hits = seen, anchored_at = from;
        }
        if (seen == 1)
            break;
    }
}

/* Counts the runs of every instruction. */
static void count_seen(void) {
    static struct { uint64_t address; long runs; } table[2 * LONGEST];
    for (long i = 1; i < shared->length; i++) {
        uint64_t hash = shared->trace[i] * 0x9e3779b97f4a7c15u % (2 * LONGEST);
        while (table[hash].address && table[hash].address != shared->trace[i])
            hash = (hash + 1) % (2 * LONGEST);
        table[hash].address = shared->trace[i];
        shared->seen[i] = ++table[hash].runs;
    }
}

static void warm_up(void) {
    if (!strcmp(what, "move"))
        return;
    draw(16, "before");
    if (action == LOOK) {
        /* Bytes go out from the end of the buffer down. */
        static unsigned char before[4096], drawn[16];
        if (drop(-1) != 1)
            fail("not one state page");
        memcpy(before, page, sizeof before);
        if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
            fail("before: wrong result");
        unsigned char *found = memmem(before, sizeof before, drawn, sizeof drawn);
        if (!found)
            fail("the buffer is not found");
        unread = page + (found - before);
    }
    int nearly = !strcmp(what, "refill256") ? 108 : !strcmp(what, "bulk2") ? 192 : 0;
    if (!strcmp(what, "readv")) {
        unsigned char first[16];
        urandom = open("/dev/urandom", O_RDONLY);
        if (urandom < 0 || read(urandom, first, sizeof first) != sizeof first)
            fail("before: wrong result");
        nearly = 92;
    }
    for (int i = 0; nearly && i < 11; i++)
        draw(256, "before");
    if (nearly) {
        unsigned char rest[192];
        if (getrandom(rest, nearly, 0) != nearly)
            fail("before: wrong result");
    }
}

static void count_fast(void) {
    int (*stats)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    uint64_t counts[10] = {0};
    if (!plain_library && (!stats || stats(counts, sizeof counts)))
        fail("the library is not there");
    shared->fast += counts[3] > 0 || plain_library;
}

/* One process of its own for one run. */
static void one(int how, long index) {
    pid_t child = fork();
    if (child < 0)
        perror("fork"), exit(2);
    if (child) {
        int status;
        if (waitpid(child, &status, 0) != child || (status && !(WIFEXITED(status) && WEXITSTATUS(status) == 1))) {
            dprintf(2, "%s, %s at instruction %ld: wait status %#x\n", what, names[action], index, status);
            shared->failures++;
        }
        return;
    }
    alarm(how == EACH ? 600 : 30);
    warm_up();
    if (how == HUNT)
        aim(index);
    memset(dest, PATTERN, sizeof dest);
    mode = how;
    static volatile ssize_t result;
    if (sigsetjmp(away, 1) == 0) {
        result = stepped();
        int number = errno;
        mode = OFF;
        if (result != (ssize_t)len)
            fail("result %zd", result);
        if (number != 77)
            fail("errno changed to %d", number);
        /* Once the call has looked at its page for the last time, the answer stands in
           the caller's memory, and a fork copies that: in the last few instructions,
           as after any system call. How many those are is checked at the end. */
        if (in_child && !memcmp(dest, at_fork, len)) {
            shared->inherited++;
            if (shared->inherited_first == 0)
                shared->inherited_first = current;
        } else {
            check(dest, len, "call");
        }
        if (action == LOOK)
            look();
        for (size_t i = len; i < sizeof dest; i++)
            if (dest[i] != PATTERN)
                fail("wrote beyond the end");
    }
    if (action == JUMPFORK && acted) {
        pid_t grandchild = fork();
        if (grandchild == 0)
            in_child = 1;
        else {
            int status;
            if (waitpid(grandchild, &status, 0) != grandchild || status)
                fail("child: wait status %#x", status);
        }
    }
    draw(16, "later");
    draw(1040, "later");
    draw(16, "later");
    if (!in_child) {
        shared->acted += acted;
        if (action != JUMP && action != JUMPFORK)
            count_fast();
    }
    _exit(0);
}

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    what = argv[2];
    plain_library = !strstr(argv[1], "ownpool");
    static const struct { const char *name; size_t len; } calls[] = {
        {"refill256", 256}, {"bulk2", 2048 + 64},
        {"bulk8", 8192}, {"bulk20", 20480}, {"move", 16}, {"readv", 256}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(what, calls[i].name))
            len = calls[i].len;
    if (!strncmp(what, "take", 4))
        len = (size_t)atol(what + 4);
    for (action = 0; action < ACTIONS && strcmp(argv[3], names[action]); action++)
        ;
    if (!len || action == ACTIONS)
        return 2;
    stride = atol(argv[4]), offset = atol(argv[5]);
    if (stride < 1)
        return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &trap, NULL);
    find_text(argv[1]);
    /* Twice the same: once a minute the kernel renews its generator, and the vDSO's
       state draws once more in that call. */
    long length = -1;
    for (int i = 0; i < 10 && length != shared->length; i++) {
        length = shared->length;
        one(RECORD, 0);
    }
    count_seen();
    long inside = 0, runs = 0, skipped = 0;
    for (long i = 1; i < shared->length; i++)
        inside += shared->trace[i] >= text_start && shared->trace[i] < text_end;
    if (action <= FORKDRAW || action == LOOK) {
        one(EACH, 0);
        runs = shared->length / stride;
    } else {
        for (long i = 1 + offset % stride; i < shared->length && shared->failures < SHOWN; i += stride) {
            if (shared->seen[i] > 100 && shared->seen[i] % 61) {
                skipped++;
                continue;
            }
            long gaps = action == DROPLATER ? shared->length - i : 1;
            for (gap = 1; gap <= gaps && shared->failures < SHOWN; gap++) {
                one(HUNT, i);
                runs++;
            }
        }
    }
    /* Those who inherited forked at the end, one after the other, and within the few
       instructions that a return takes: at the end of that very run, which is longer than
       the recorded one where the vDSO had to look again, at its clock or its generator. */
    if (shared->inherited && action <= FORKDRAW) {
        long last = shared->went - shared->inherited_first;
        if (last > 64 || shared->inherited * stride > last + stride)
            dprintf(2, "%s, %s: %ld children have the parent's answer, from instruction %ld on\n",
                    what, names[action], shared->inherited, shared->inherited_first),
                shared->failures++;
    }
    printf("instructions %ld inside %ld runs %ld skipped %ld acted %ld fast %ld nopage %ld inherited %ld blocks %ld failures %ld\n",
           shared->length, inside, runs, skipped, shared->acted, shared->fast, shared->nopage,
           shared->inherited, shared->blocks, shared->failures);
    return shared->failures != 0;
}
