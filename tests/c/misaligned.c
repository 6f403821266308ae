/* Settles: every name that libc itself serves on a stack that is off by 8 is
 * served so under the library as well. Hand-written assembly, JITs and stubs of
 * foreign-function interfaces call like that, without harm: libc's thin
 * functions store nothing wide to their stack. Each name is called light, while it
 * moves its thread, and moved; a size at a time, each on a thread of its own.
 *
 * glibc's arc4random family needs an aligned stack itself: it is called under the
 * library alone. Some 2^21 blocks: two are equal by chance with 2^-87. */
#include "misaligned.h"
#include "proof.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/uio.h>

static struct blocks *table;
static unsigned char buffer[70000];
static struct iovec vectors[2];
static int urandom;

/* A name, and the arguments that make it give `len` bytes to `buffer`. */
struct name {
    const char *name;
    enum { GETRANDOM, GETENTROPY, SYSCALL, READ, READ_CHK, PREAD_CHK, READV, FAMILY } kind;
};

static const struct name NAMES[] = {
    {"getrandom", GETRANDOM}, {"getentropy", GETENTROPY}, {"syscall", SYSCALL},
    {"read", READ},           {"__read_chk", READ_CHK},   {"pread", READ},
    {"pread64", READ},        {"__pread_chk", PREAD_CHK}, {"__pread64_chk", PREAD_CHK},
    {"readv", READV},         {"preadv", READV},          {"preadv64", READV},
    {"preadv2", READV},       {"preadv64v2", READV},      {"arc4random_buf", FAMILY},
};

static const size_t SIZES[] = {16, 100, 3000, 9000, 70000};

static void *function(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    CHECK(found != NULL);
    return found;
}

/* One call: its answer, and blocks that differ. */
static void draw(const struct name *name, size_t len)
{
    void *f = function(name->name);
    long dest = (long)buffer, size = (long)len, answer = -2;
    memset(buffer, 0, len);
    vectors[0] = (struct iovec){buffer, len / 3};
    vectors[1] = (struct iovec){buffer + len / 3, len - len / 3};
    errno = 77;
    switch (name->kind) {
    case GETRANDOM:
        answer = call_misaligned(f, dest, size, 0, 0, 0, 0);
        break;
    case GETENTROPY: /* beyond 256 bytes: refused, by libc itself */
        answer = (int)call_misaligned(f, dest, size, 0, 0, 0, 0);
        if (len > 256) {
            CHECK(answer == -1 && errno == EIO);
            return;
        }
        answer = answer == 0 ? size : -2;
        break;
    case SYSCALL:
        answer = call_misaligned(f, SYS_getrandom, dest, size, 0, 0, 0);
        break;
    case READ: /* and from offset 0 */
        answer = call_misaligned(f, urandom, dest, size, 0, 0, 0);
        break;
    case READ_CHK:
        answer = call_misaligned(f, urandom, dest, size, sizeof buffer, 0, 0);
        break;
    case PREAD_CHK:
        answer = call_misaligned(f, urandom, dest, size, 0, sizeof buffer, 0);
        break;
    case READV: /* and from offset 0, without flags */
        answer = call_misaligned(f, urandom, (long)vectors, 2, 0, 0, 0);
        break;
    case FAMILY:
        call_misaligned(f, dest, size, 0, 0, 0, 0);
        answer = size;
        break;
    }
    CHECK(answer == size);
    CHECK(errno == 77);
    note_blocks(table, buffer, len);
}

struct task { const struct name *name; size_t len; };

static void *draws(void *argument)
{
    const struct task *task = argument;
    draw(task->name, task->len); /* light, unless it is large */
    for (int times = 0; times < 300; times++)
        draw(task->name, 16); /* moves the thread, wherever that happens */
    for (int times = 0; times < 20; times++)
        draw(task->name, task->len); /* from what is there, by refills, and streamed */
    return NULL;
}

static void *words(void *unused)
{
    for (int times = 0; times < 2000; times++) {
        uint32_t block[4];
        for (int word = 0; word < 4; word++)
            block[word] = call_misaligned(function("arc4random"), 0, 0, 0, 0, 0, 0);
        note_blocks(table, block, sizeof block);
        CHECK((uint32_t)call_misaligned(function("arc4random_uniform"), 10, 0, 0, 0, 0, 0) < 10);
    }
    return unused;
}

static void run(void *(*body)(void *), const void *argument)
{
    pthread_t id;
    CHECK(pthread_create(&id, NULL, body, (void *)argument) == 0);
    CHECK(pthread_join(id, NULL) == 0);
}

/* What opens: the descriptor reads, and is closed again. */
static void opens(void)
{
    static const char path[] = "/dev/urandom";
    static const char *const plain[] = {"open", "open64", "__open_2", "__open64_2"};
    static const char *const at[] = {"openat", "openat64", "__openat_2", "__openat64_2"};
    static const char *const streams[] = {"fopen", "fopen64"};
    for (int which = 0; which < 4; which++) {
        int fd = call_misaligned(function(plain[which]), (long)path, O_RDONLY, 0, 0, 0, 0);
        CHECK(fd >= 0 && read(fd, buffer, 16) == 16 && close(fd) == 0);
        fd = call_misaligned(function(at[which]), AT_FDCWD, (long)path, O_RDONLY, 0, 0, 0);
        CHECK(fd >= 0 && read(fd, buffer, 16) == 16 && close(fd) == 0);
    }
    for (int which = 0; which < 2; which++) {
        FILE *stream = (FILE *)call_misaligned(function(streams[which]), (long)path, (long)"r", 0, 0, 0, 0);
        CHECK(stream && fread(buffer, 1, 16, stream) == 16 && fclose(stream) == 0);
    }
}

/* What is handed on untouched. */
static void others(void)
{
    CHECK((int)call_misaligned(function("prctl"), PR_GET_DUMPABLE, 0, 0, 0, 0, 0) == prctl(PR_GET_DUMPABLE));
    CHECK(call_misaligned(function("syscall"), SYS_getpid, 0, 0, 0, 0, 0) == getpid());
    CHECK(call_misaligned(function("syscall"), SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == prctl(PR_GET_DUMPABLE));
    int zeros = open("/dev/zero", O_RDONLY);
    CHECK(zeros >= 0 && call_misaligned(function("read"), zeros, (long)buffer, 16, 0, 0, 0) == 16);
    CHECK(close(zeros) == 0);
    errno = 0;
    CHECK(call_misaligned(function("read"), -1, (long)buffer, 16, 0, 0, 0) == -1 && errno == EBADF);
    errno = 0;
    CHECK(call_misaligned(function("getrandom"), (long)buffer, 16, 0xf0, 0, 0, 0) == -1 && errno == EINVAL);
    errno = 0;
    CHECK(call_misaligned(function("getrandom"), 1, 16, 0, 0, 0, 0) == -1 && errno == EFAULT);
}

int main(void)
{
    prove();
    table = make_blocks(1 << 21);
    urandom = open("/dev/urandom", O_RDONLY);
    CHECK(urandom >= 0);
    opens();
    others();
    for (size_t name = 0; name < sizeof NAMES / sizeof *NAMES; name++)
        for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; size++)
            if (NAMES[name].kind != FAMILY || hooked())
                run(draws, &(struct task){&NAMES[name], SIZES[size]});
    if (hooked())
        run(words, NULL);
    others(); /* on a thread that is light still */
    draw_heavily();
    others();
    CHECK(repeats(table) == 0);
    dprintf(1, "ok, moved %d\n", counts().threads_moved > 0);
    return 0;
}
