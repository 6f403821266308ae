/* Under fire: threads draw small and large while a timer signal falls on them every 100 us,
 * whose handler draws, and at times forks, and another thread drops the state pages.
 *
 *   fire SECONDS ADVICE     ADVICE: dontneed, pageout, none
 *
 * A child goes on in one of three ways: it ends in the handler after draws; it returns from
 * the handler, ends the call that was interrupted, checks that, draws, and ends; or it jumps
 * away and draws. Checked everywhere: results; no 16 bytes are zero or what was there
 * before (fewer than 2^34 looks: odds below 2^-93); and in every call that a signal fell
 * into, in the handlers, and in all the children, that no 16 bytes come twice (fewer than
 * 2^23: odds below 2^-83). A call into which a fork fell after the answer stood in the
 * caller's memory has its bytes in both processes, as after any system call: so of a
 * child's interrupted call only what did not stand there at the fork is compared.
 * Where the kernel answers, a signal may cut a request short after its first 256 bytes
 * (getrandom(2)); the rest is then asked for again.
 * Prints counts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TABLE = 1 << 23, THREADS = 3, LARGEST = 24 << 10 };
static struct {
    unsigned char table[TABLE][16];
    unsigned char taken[TABLE];
    long blocks, failures, signals, forks, returned, jumped, drops, calls;
} *all;

static __thread volatile int interrupted, is_child;
static __thread unsigned char dest[LARGEST], at_fork[LARGEST];
static __thread volatile size_t in_call;
static __thread unsigned ticks;
static __thread sigjmp_buf away;
static volatile int over;

static void fail(const char *what, size_t len, size_t at) {
    if (__atomic_fetch_add(&all->failures, 1, __ATOMIC_SEQ_CST) < 5)
        dprintf(2, "%s: %zu bytes, at %zu%s\n", what, len, at, is_child ? ", in a child" : "");
    _exit(1);
}

static void look(const unsigned char *bytes, size_t len) {
    uint64_t word[2];
    for (size_t at = 0; at < len; at += 16) {
        memcpy(word, bytes + at, 16);
        if (!(word[0] | word[1])) fail("zeros", len, at);
        if (word[0] == 0xa5a5a5a5a5a5a5a5 && word[0] == word[1]) fail("unfilled", len, at);
    }
}

/* These bytes are new. Lock-free: a row is claimed, then written, then shown. */
static void keep(const unsigned char *bytes, size_t len) {
    look(bytes, len);
    for (size_t at = 0; at < len; at += len > 512 ? 256 : 16) {
        uint64_t row;
        memcpy(&row, bytes + at, 8);
        for (row %= TABLE;; row = (row + 1) % TABLE) {
            unsigned char empty = 0;
            if (__atomic_compare_exchange_n(&all->taken[row], &empty, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                memcpy(all->table[row], bytes + at, 16);
                __atomic_store_n(&all->taken[row], 2, __ATOMIC_SEQ_CST);
                break;
            }
            /* A row that is being written belongs to a thread that a signal may have
               stopped: such a one is passed by after a while. */
            for (int i = 0; i < 1000 && __atomic_load_n(&all->taken[row], __ATOMIC_SEQ_CST) == 1; i++)
                ;
            if (!memcmp(all->table[row], bytes + at, 16)) fail("came before", len, at);
        }
        if (__atomic_add_fetch(&all->blocks, 1, __ATOMIC_SEQ_CST) > TABLE / 4 * 3) fail("table full", len, at);
    }
}

static void fill(unsigned char *bytes, size_t len) {
    for (size_t done = 0; done < len;) {
        ssize_t got = getrandom(bytes + done, len - done, 0);
        if (got < (ssize_t)(len - done < 256 ? len - done : 256)) fail("result", len, done);
        /* What was not filled begins anew at a whole block. */
        got = done + (size_t)got < len ? got & ~15 : got;
        memset(bytes + done + got, 0xa5, len - done - (size_t)got);
        done += (size_t)got;
    }
}

static void draw(size_t len) {
    unsigned char own[1104];
    memset(own, 0xa5, len);
    fill(own, len);
    keep(own, len);
}

static void on_tick(int signal) {
    (void)signal;
    int before = errno;
    __atomic_add_fetch(&all->signals, 1, __ATOMIC_RELAXED);
    interrupted = 1;
    draw(16);
    if (++ticks % 4 == 0) {
        int way = (int)(ticks / 4 % 3);
        pid_t child = fork();
        if (child < 0) fail("fork", 0, (size_t)errno);
        if (child == 0) {
            is_child = 1;
            over = 1;
            alarm(20);
            draw(16);
            draw(1040);
            if (way == 0) _exit(0);
            memcpy(at_fork, dest, in_call);
            if (way == 1) siglongjmp(away, 1);
        } else {
            int status;
            draw(1040);
            while (waitpid(child, &status, 0) != child)
                if (errno != EINTR) fail("waitpid", 0, (size_t)errno);
            if (status) fail("child", 0, (size_t)status);
            __atomic_add_fetch(&all->forks, 1, __ATOMIC_RELAXED);
            __atomic_add_fetch(way == 1 ? &all->jumped : way == 2 ? &all->returned : &all->forks, way != 0, __ATOMIC_RELAXED);
        }
    }
    errno = before;
}

static void block(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

static void *drawer(void *number) {
    static const size_t lens[] = {16, 32, 256, 16, 1008, 16, 2064, 48, 8192, 16, 20480, 112};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) fail("timer", 0, 0);
    if (sigsetjmp(away, 1)) {
        /* A child that jumped away. */
        draw(16);
        draw(1040);
        _exit(0);
    }
    struct itimerspec every = {{0, 100000}, {0, 100000}};
    timer_settime(timer, 0, &every, NULL);
    long calls = 0;
    for (size_t turn = (size_t)number; !over || is_child; turn++) {
        size_t len = lens[turn % (sizeof lens / sizeof *lens)];
        memset(dest, 0xa5, len);
        in_call = len;
        interrupted = 0;
        fill(dest, len);
        block(SIG_BLOCK);
        if (is_child) {
            look(dest, len);
            for (size_t at = 0; at < len; at += len > 512 ? 256 : 16)
                if (memcmp(at_fork + at, dest + at, 16)) keep(dest + at, 16);
            draw(16);
            _exit(0);
        }
        if (interrupted) keep(dest, len); else look(dest, len);
        calls++;
        block(SIG_UNBLOCK);
    }
    timer_delete(timer);
    __atomic_add_fetch(&all->calls, calls, __ATOMIC_RELAXED);
    return NULL;
}

/* Every state page there is, by the flags of its mapping. */
static int pages(unsigned long *found, int most) {
    static char text[512 << 10];
    ssize_t n, end = 0;
    int fd = open("/proc/self/smaps", O_RDONLY), count = 0;
    while (fd >= 0 && (n = read(fd, text + end, sizeof text - 1 - (size_t)end)) > 0) end += n;
    close(fd);
    text[end] = 0;
    unsigned long start = 0, stop = 0, a, b;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        if (sscanf(line, "%lx-%lx ", &a, &b) == 2) start = a, stop = b;
        char *after = strchr(line, '\n'), *dp = strstr(line, " dp"), *wf = strstr(line, " wf");
        if (!strncmp(line, "VmFlags:", 8) && ((dp && dp < after) || (wf && wf < after)))
            for (; start < stop && count < most; start += 4096) found[count++] = start;
        if (!after) break;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return 2;
    int advice = !strcmp(argv[2], "pageout") ? MADV_PAGEOUT : MADV_DONTNEED;
    struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &tick, NULL);
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, drawer, (void *)(i * 5))) return 2;
    struct timespec now, then;
    clock_gettime(CLOCK_MONOTONIC, &then);
    unsigned long found[16];
    int count = 0;
    do {
        if (count < THREADS) count = pages(found, 16);
        for (int i = 0; i < count && strcmp(argv[2], "none"); i++)
            if (madvise((void *)found[i], 4096, advice) == 0) all->drops++;
        struct timespec pause = {0, 20000};
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - then.tv_sec < atol(argv[1]));
    over = 1;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    int (*stats)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))dlsym(RTLD_DEFAULT, "ownpool_stats");
    uint64_t counts[10] = {0};
    if (!stats || stats(counts, sizeof counts)) return 3;
    printf("calls %ld private %lu signals %ld forks %ld returned %ld jumped %ld drops %ld pages %d blocks %ld\n",
           all->calls, counts[3], all->signals, all->forks, all->returned, all->jumped, all->drops, count, all->blocks);
    return all->failures != 0;
}
