/* A process's memory and registers are put back, as a checkpoint or a virtual machine's
 * snapshot does, and it runs again from there, four times: two threads that are both moved.
 * With "reseed" one of them calls ownpool_reseed() first, and no bytes of any run equal
 * those of another, on either thread. With "control" neither does, and some bytes do, or
 * this would prove nothing. In shared memory lies only what must outlive the restoring. */
#include "api.h"
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>

#define RUNS 4
#define ENTRIES 4
static struct shared {
    pid_t tid[2];
    int ready, run, reseeded, done;
    unsigned char drawn[RUNS][2][ENTRIES][32];
} * shared;
static bool reseeds;

static int load(int *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static void add(int *word) { __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST); }

static void draw(unsigned char out[ENTRIES][32]) {
    static __thread unsigned char much[70000];
    /* Integers first: they come from what is buffered. */
    for (int i = 0; i < 4; i++) {
        uint64_t word = ownpool_u64();
        memcpy(out[0] + 8 * i, &word, 8);
    }
    CHECK(ownpool_getrandom(out[1], 32, 0) == 32);
    CHECK(ownpool_fill(out[2], 32) == 0);
    CHECK(ownpool_fill(much, sizeof much) == 0);
    memcpy(out[3], much, 32);
}

/* Spins, so that it stops in user space: registers are all that there is to put back. */
static void *party(void *argument) {
    long me = (long)argument;
    static __thread unsigned char warm[ENTRIES][32];
    for (int i = 0; i < 100; i++) draw(warm);
    shared->tid[me] = (pid_t)syscall(SYS_gettid);
    add(&shared->ready);
    while (load(&shared->run) < 0) {}
    if (me == 0) {
        if (reseeds) ownpool_reseed();
        add(&shared->reseeded);
    }
    while (load(&shared->reseeded) == 0) {}
    draw(shared->drawn[load(&shared->run)][me]);
    add(&shared->done);
    for (;;) pause();
    return NULL;
}

static void child(void) {
    pthread_t id;
    CHECK(pthread_create(&id, NULL, party, (void *)1) == 0);
    party((void *)0);
}

static void await(int *word, int value) {
    struct timespec nap = {0, 1000000};
    for (int i = 0; load(word) != value; i++) {
        CHECK(i < 60000);
        nanosleep(&nap, NULL);
    }
}

static struct image {
    unsigned long at, len;
    char *bytes;
} images[4000];
static int image_count;

static void keep(pid_t pid) {
    char path[64], line[600], flags[8];
    unsigned long from, to;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) != 3 || flags[1] != 'w' || flags[3] != 'p') continue;
        CHECK(image_count < 4000);
        struct image *image = &images[image_count];
        image->at = from;
        image->len = to - from;
        image->bytes = (char *)malloc(image->len);
        struct iovec here = {image->bytes, image->len}, there = {(void *)from, image->len};
        if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)image->len) image_count++;
    }
    fclose(maps);
}
static void put_back(pid_t pid) {
    for (int i = 0; i < image_count; i++) {
        struct iovec here = {images[i].bytes, images[i].len}, there = {(void *)images[i].at, images[i].len};
        CHECK(process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)images[i].len);
    }
}

/* Requests are an enum in glibc's C++ prototype only. */
#ifdef __cplusplus
#define TRACE(what, tid, address, data) ptrace((enum __ptrace_request)(what), tid, (void *)(address), (void *)(data))
#else
#define TRACE(what, tid, address, data) ptrace(what, tid, (void *)(address), (void *)(data))
#endif

static struct registers {
    struct user_regs_struct general;
    unsigned char vector[16384];
    size_t vector_len;
} registers[2];

static void stop(void) {
    for (int i = 0; i < 2; i++) {
        int status;
        CHECK(TRACE(PTRACE_INTERRUPT, shared->tid[i], 0, 0) == 0);
        CHECK(waitpid(shared->tid[i], &status, __WALL) == shared->tid[i] && WIFSTOPPED(status));
    }
}
static void go(void) {
    for (int i = 0; i < 2; i++) CHECK(TRACE(PTRACE_CONT, shared->tid[i], 0, 0) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    reseeds = strcmp(argv[1], "reseed") == 0;
    shared = (struct shared *)mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    shared->run = -1;
    pid_t pid = fork();
    if (pid == 0) child();
    CHECK(pid > 0);
    await(&shared->ready, 2);
    for (int i = 0; i < 2; i++) CHECK(TRACE(PTRACE_SEIZE, shared->tid[i], 0, 0) == 0);
    stop();
    keep(pid);
    for (int i = 0; i < 2; i++) {
        struct iovec vector = {registers[i].vector, sizeof registers[i].vector};
        CHECK(TRACE(PTRACE_GETREGS, shared->tid[i], 0, &registers[i].general) == 0);
        CHECK(TRACE(PTRACE_GETREGSET, shared->tid[i], NT_X86_XSTATE, &vector) == 0);
        registers[i].vector_len = vector.iov_len;
    }
    for (int run = 0; run < RUNS; run++) {
        shared->reseeded = shared->done = 0;
        __atomic_store_n(&shared->run, run, __ATOMIC_SEQ_CST);
        go();
        await(&shared->done, 2);
        stop();
        __atomic_store_n(&shared->run, -1, __ATOMIC_SEQ_CST);
        put_back(pid);
        for (int i = 0; i < 2; i++) {
            struct iovec vector = {registers[i].vector, registers[i].vector_len};
            CHECK(TRACE(PTRACE_SETREGS, shared->tid[i], 0, &registers[i].general) == 0);
            CHECK(TRACE(PTRACE_SETREGSET, shared->tid[i], NT_X86_XSTATE, &vector) == 0);
        }
    }
    kill(pid, SIGKILL);
    int equal[ENTRIES] = {0, 0, 0, 0};
    for (int a = 0; a < RUNS * 2; a++)
        for (int b = 0; b < a; b++)
            for (int entry = 0; entry < ENTRIES; entry++)
                equal[entry] += memcmp(shared->drawn[a / 2][a % 2][entry], shared->drawn[b / 2][b % 2][entry], 32) == 0;
    printf("equal: u64 %d, getrandom %d, fill %d, much %d\n", equal[0], equal[1], equal[2], equal[3]);
    return 0;
}
