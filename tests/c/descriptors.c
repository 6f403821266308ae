/* A number that was urandom becomes something else, in every way there is, and back.
   Never may a read of something else give a random byte, nor a read of urandom a stale
   one. Argument: a plugin to load with RTLD_DEEPBIND. Prints what it did. */
#include "reads.h"
#include <linux/io_uring.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <termios.h>

extern char **environ;
static int number;      /* the number in question */
static int saved;       /* a urandom that stays, high up */
static int source;      /* what the number becomes, high up; nonblocking */
static unsigned char mark; /* the byte that the source is full of */

/* ---- what a number may become ---- */

static int other = -1; /* the end that is written to */
static int high(int fd) { int up = RAW(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200, 0, 0, 0); RAW(SYS_close, fd, 0, 0, 0, 0, 0); if (up < 200) DIE("high"); return up; }
static void make_file(void) {
    char path[] = "/tmp/ownpool-fd-XXXXXX", bytes[4096];
    int fd = mkstemp(path);
    unlink(path);
    memset(bytes, mark, sizeof bytes);
    if (write(fd, bytes, sizeof bytes) != sizeof bytes) DIE("write");
    lseek(fd, 0, SEEK_SET);
    source = high(fd);
}
static void pair(int p[2]) { fcntl(p[0], F_SETFL, O_NONBLOCK); source = high(p[0]); other = high(p[1]); }
static void fill_other(size_t len) { char bytes[64]; memset(bytes, mark, 64); if (write(other, bytes, len) != (ssize_t)len) DIE("fill"); }
static void make_pipe(void) { int p[2]; if (pipe(p)) DIE("pipe"); pair(p); fill_other(64); }
static void make_socket(void) { int p[2]; if (socketpair(AF_UNIX, SOCK_STREAM, 0, p)) DIE("socketpair"); pair(p); fill_other(64); }
static void make_eventfd(void) { uint64_t value; memset(&value, mark, 8); int fd = eventfd(0, EFD_NONBLOCK); if (write(fd, &value, 8) != 8) DIE("eventfd"); source = high(fd); }
static void make_tty(void) {
    int p[2];
    struct termios raw_mode;
    if (openpty(&p[1], &p[0], NULL, NULL, NULL)) DIE("openpty");
    tcgetattr(p[0], &raw_mode);
    cfmakeraw(&raw_mode);
    tcsetattr(p[0], TCSANOW, &raw_mode);
    pair(p);
    fill_other(64);
    struct timespec tick = {0, 1000000};
    for (int i = 0, n = 0; i < 1000 && n < 64; i++) { ioctl(source, 0x541B /* FIONREAD */, &n); if (n < 64) nanosleep(&tick, NULL); }
}
static void make_zero(void) { source = high(open("/dev/zero", O_RDONLY)); mark = 0; }
static void make_null(void) { source = high(open("/dev/null", O_RDONLY)); }
static void make_path(void) { source = high(open("/dev/urandom", O_PATH)); } /* cannot be read */
static void make_nothing(void) { source = -1; }
static const struct kind { const char *name; void (*make)(void); int len; } kinds[] = {
    {"file", make_file, 64}, {"pipe", make_pipe, 64}, {"socket", make_socket, 64}, {"eventfd", make_eventfd, 8},
    {"tty", make_tty, 64}, {"zero", make_zero, 64}, {"null", make_null, 0}, {"nothing", make_nothing, -1}, {"path of urandom", make_path, -1},
};
static const struct kind *kind;

/* ---- the check: the number is what the source is ---- */

static const char *way_name;
static void check(const struct form *form) {
    unsigned char bytes[64];
    memset(bytes, 0x5a, 64);
    size_t want = kind->len > 0 ? kind->len : 64;
    errno = 77;
    ssize_t got = form->call(number, bytes, want, 0);
    int error = errno;
    if (got < 0) {
        unsigned char room[64];
        long kernel = form->kernel(number, room, want, 0);
        if (kernel != -error) DIE("%s, %s, %s: error %d, the kernel says %ld", way_name, kind->name, form->name, error, kernel);
        if (kind->len < 0 && error != EBADF) DIE("%s, %s, %s: not EBADF", way_name, kind->name, form->name);
    } else {
        if (got != kind->len) DIE("%s, %s, %s: %zd bytes", way_name, kind->name, form->name, got);
        if (error != 77) DIE("%s, %s, %s: errno became %d", way_name, kind->name, form->name, error);
    }
    for (int i = 0; i < 64; i++)
        if (bytes[i] != (i < got ? mark : 0x5a)) DIE("%s, %s, %s: byte %d is %02x", way_name, kind->name, form->name, i, bytes[i]);
}

static uint64_t served_checks;
static void check_random(const struct form *form, int serves) {
    unsigned char bytes[64], again[64];
    memset(bytes, mark, 64);
    uint64_t before = counts().private_calls;
    if (form->call(number, bytes, 64, 0) != 64 || form->call(number, again, 64, 0) != 64) DIE("%s, %s, %s: urandom gives less", way_name, kind->name, form->name);
    if (!is_random(bytes, mark) || !is_random(again, mark) || !memcmp(bytes, again, 64)) DIE("%s, %s, %s: urandom gives stale bytes", way_name, kind->name, form->name);
    uint64_t served = counts().private_calls - before;
    if (serves && serving() && served != 2) DIE("%s, %s, %s: %d served, not 2", way_name, kind->name, form->name, (int)served);
    served_checks += served;
}

/* ---- ways to make the number the source, or nothing ---- */

static int to_nothing(void) { return source < 0; }
static void shut(void) { RAW(SYS_close, number, 0, 0, 0, 0, 0); }
static void place(void) { if (!to_nothing() && RAW(SYS_fcntl, source, F_DUPFD, number, 0, 0, 0) != number) DIE("%s: the number is taken", way_name); }

static void way_close(void) { close(number); place(); }
static void way_close_dup(void) { close(number); if (!to_nothing() && dup(source) != number) DIE("dup"); }
static void way_dup2(void) { if (to_nothing()) close(number); else if (dup2(source, number) != number) DIE("dup2"); }
static void way_dup3(void) { if (to_nothing()) close(number); else if (dup3(source, number, O_CLOEXEC) != number) DIE("dup3"); }
static void way_inline(void) { if (to_nothing()) shut(); else RAW(SYS_dup2, source, number, 0, 0, 0, 0); }
static void way_syscall(void) { if (to_nothing()) syscall(SYS_close, number); else syscall(SYS_dup3, source, number, 0); }
static void way_fclose(void) { fclose(fdopen(number, "r")); place(); }
static void way_fclose_used(void) { FILE *f = fdopen(number, "r"); if (fgetc(f) == EOF) DIE("fgetc"); fclose(f); place(); }
static void way_close_range(void) { if (close_range(number, number, 0)) DIE("close_range"); place(); }
static void way_freopen(void) {
    char path[64];
    if (to_nothing() || kind->make == make_socket || kind->make == make_eventfd || kind->make == make_path) { way_fclose(); return; } /* cannot be opened by a path */
    FILE *f = fdopen(number, "r");
    snprintf(path, sizeof path, "/proc/self/fd/%d", source);
    if (!freopen(path, "r", f) || fileno(f) != number) DIE("freopen");
    RAW(SYS_fcntl, number, F_SETFL, O_NONBLOCK, 0, 0, 0);
    /* the stream stays: closing it would close the number */
}
static int in_shared_table(void *x) { (void)x; way_inline(); _exit(0); }
static void wait_for(int child) { int status; if (waitpid(child, &status, __WALL) != child || status) DIE("%s: child %x", way_name, status); }
static char stack[65536] __attribute__((aligned(16)));
static void way_clone_files(void) { int child = clone(in_shared_table, stack + sizeof stack, CLONE_FILES | SIGCHLD, 0); if (child < 0) DIE("clone"); wait_for(child); }
static void *in_thread(void *x) { (void)x; way_dup2(); return NULL; }
static void way_thread(void) { pthread_t t; if (pthread_create(&t, 0, in_thread, 0)) DIE("thread"); pthread_join(t, NULL); }
static void way_rights(void) {
    int p[2];
    char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
    if (to_nothing()) { shut(); return; }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, p)) DIE("socketpair");
    p[0] = high(p[0]), p[1] = high(p[1]);
    struct iovec v = {&byte, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &source, sizeof(int));
    if (sendmsg(p[0], &m, 0) != 1) DIE("sendmsg");
    shut();
    if (recvmsg(p[1], &m, 0) != 1) DIE("recvmsg");
    int got;
    memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
    if (got != number) DIE("SCM_RIGHTS gave %d", got);
    close(p[0]), close(p[1]);
}
static void way_pidfd(void) {
    shut();
    if (to_nothing()) return;
    int self = high(syscall(434 /* pidfd_open */, getpid(), 0));
    if (syscall(438 /* pidfd_getfd */, self, source, 0) != number) DIE("pidfd_getfd");
    close(self);
}
static int (*other_libc_close)(int), (*other_libc_dup2)(int, int), (*plugin_close)(int), (*plugin_dup2)(int, int);
static void way_other_libc(void) { if (to_nothing()) other_libc_close(number); else other_libc_dup2(source, number); }
static void way_plugin(void) { if (to_nothing()) plugin_close(number); else plugin_dup2(source, number); }

static int ring = -1;
static struct io_uring_params ring_is;
static char *ring_at;
static struct io_uring_sqe *ring_entries;
static void ring_open(void) {
    ring = syscall(SYS_io_uring_setup, 4, &ring_is);
    if (ring < 0) return;
    ring = high(ring);
    ring_at = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
    ring_entries = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    if (ring_at == MAP_FAILED || !(ring_is.features & IORING_FEAT_SINGLE_MMAP)) DIE("ring");
}
static void way_ring(void) {
    unsigned *tail = (unsigned *)(ring_at + ring_is.sq_off.tail), at = *tail & *(unsigned *)(ring_at + ring_is.sq_off.ring_mask);
    unsigned *head = (unsigned *)(ring_at + ring_is.cq_off.head);
    memset(ring_entries + at, 0, sizeof *ring_entries);
    ring_entries[at].opcode = IORING_OP_CLOSE, ring_entries[at].fd = number;
    ((unsigned *)(ring_at + ring_is.sq_off.array))[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1) DIE("ring enter");
    struct io_uring_cqe *done = (struct io_uring_cqe *)(ring_at + ring_is.cq_off.cqes) + (*head & *(unsigned *)(ring_at + ring_is.cq_off.ring_mask));
    if (done->res) DIE("ring close: %d", done->res);
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    place();
}

/* ---- ways that change the number elsewhere: there it is the source, here urandom still ---- */

static const struct form *elsewhere_form;
static void there(void) { way_inline(); check(elsewhere_form); }
static void way_fork(void) { int child = fork(); if (!child) { there(); _exit(0); } wait_for(child); }
static void way_vfork(void) { int child = vfork(); if (!child) { there(); _exit(0); } wait_for(child); }
static void way_closefrom(void) {
    int child = fork();
    if (!child) {
        int low = to_nothing() ? -1 : RAW(SYS_dup2, source, 0, 0, 0, 0, 0);
        closefrom(number);
        if (low >= 0) RAW(SYS_dup2, low, number, 0, 0, 0, 0);
        check(elsewhere_form);
        _exit(0);
    }
    wait_for(child);
}
static void *unshared(void *x) { (void)x; if (unshare(CLONE_FILES)) DIE("unshare"); there(); return NULL; }
static void way_unshare(void) { pthread_t t; if (pthread_create(&t, 0, unshared, 0)) DIE("thread"); pthread_join(t, NULL); }
/* The program that is executed checks its number (see main). */
static char *after_exec[5];
static void exec_arguments(char room[3][16]) {
    snprintf(room[0], 16, "%d", (int)(kind - kinds)), snprintf(room[1], 16, "%d", (int)(elsewhere_form - forms)), snprintf(room[2], 16, "%d", (int)mark);
    after_exec[0] = "descriptors", after_exec[1] = room[0], after_exec[2] = room[1], after_exec[3] = room[2];
}
static void way_exec(void) {
    char room[3][16];
    exec_arguments(room);
    int child = fork();
    if (!child) {
        if (to_nothing()) close(0); else dup2(source, 0);
        execv("/proc/self/exe", after_exec);
        _exit(9);
    }
    wait_for(child);
}
static void way_spawn(void) {
    char room[3][16];
    int child;
    posix_spawn_file_actions_t actions;
    exec_arguments(room);
    posix_spawn_file_actions_init(&actions);
    if (to_nothing()) posix_spawn_file_actions_addclose(&actions, 0);
    else posix_spawn_file_actions_adddup2(&actions, source, 0);
    if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, after_exec, environ)) DIE("spawn");
    posix_spawn_file_actions_destroy(&actions);
    wait_for(child);
}

enum { HERE, IN_OUR_MEMORY, IN_A_FORK, IN_A_PROGRAM };
static const struct way { const char *name; void (*go)(void); int elsewhere; } ways[] = {
    {"close", way_close, HERE}, {"close, dup", way_close_dup, HERE}, {"dup2", way_dup2, HERE}, {"dup3", way_dup3, HERE},
    {"inline system call", way_inline, HERE}, {"syscall", way_syscall, HERE}, {"fclose", way_fclose, HERE}, {"fclose of a used stream", way_fclose_used, HERE},
    {"close_range", way_close_range, HERE}, {"freopen", way_freopen, HERE}, {"a process that shares the table", way_clone_files, HERE},
    {"another thread", way_thread, HERE}, {"SCM_RIGHTS", way_rights, HERE}, {"pidfd_getfd", way_pidfd, HERE},
    {"another libc (dlmopen)", way_other_libc, HERE}, {"a plugin (RTLD_DEEPBIND)", way_plugin, HERE}, {"io_uring", way_ring, HERE},
    {"fork", way_fork, IN_A_FORK}, {"vfork", way_vfork, IN_OUR_MEMORY}, {"closefrom in a child", way_closefrom, IN_A_FORK}, {"a thread with a table of its own", way_unshare, IN_OUR_MEMORY},
    {"exec", way_exec, IN_A_PROGRAM}, {"posix_spawn", way_spawn, IN_A_PROGRAM},
};

/* daemon(3) puts /dev/null on the standard descriptors. */
static void check_daemon(const struct form *form) {
    int p[2], child;
    char ok = 0, bytes[64];
    if (pipe(p)) DIE("pipe");
    if (!(child = fork())) {
        dup2(saved, 0);
        if (form->call(0, bytes, 64, 0) != 64 || !is_random(bytes, 0)) _exit(3);
        if (daemon(1, 0)) _exit(4);
        ok = form->call(0, bytes, 64, 0) == 0 ? 'y' : 'n';
        _exit(write(p[1], &ok, 1) != 1);
    }
    close(p[1]);
    if (read(p[0], &ok, 1) != 1 || ok != 'y') DIE("daemon, %s: standard input gives bytes", form->name);
    close(p[0]);
    wait_for(child);
}

int main(int argc, char **argv) {
    if (argc == 4) { /* after exec: standard input is the source */
        kind = kinds + atoi(argv[1]), mark = atoi(argv[3]), way_name = "after exec";
        char bytes[64];
        int own = high(open("/dev/urandom", O_RDONLY)); /* standard input is a suspect now */
        for (int i = 0; i < 300; i++) if (getrandom(bytes, 64, 0) != 64 || read(own, bytes, 64) != 64) DIE("own"); /* heavy */
        number = 0;
        check(forms + atoi(argv[2]));
        return 0;
    }
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW), *plugin = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
    if (!libc || !plugin) DIE("%s", dlerror());
    *(void **)&other_libc_close = dlsym(libc, "close"), *(void **)&other_libc_dup2 = dlsym(libc, "dup2");
    *(void **)&plugin_close = dlsym(plugin, "plugin_close"), *(void **)&plugin_dup2 = dlsym(plugin, "plugin_dup2");
    ring_open();
    saved = high(open("/dev/urandom", O_RDONLY));
    char bytes[64];
    number = open("/dev/urandom", O_RDONLY);
    for (int i = 0; i < 300; i++) if (read(number, bytes, 64) != 64) DIE("warm"); /* over any allowance */
    way_name = "none", kind = kinds;
    int combinations = 0;
    for (int w = 0; w < COUNT(ways); w++)
        for (int k = 0; k < COUNT(kinds); k++)
            for (int f = 0; f < COUNT(forms); f++) {
                const struct way *way = ways + w;
                if (way->go == way_ring && ring < 0) continue;
                if (kinds[k].make == make_path && filtered()) continue; /* fstat, asked alone, cannot tell */
                /* A program started for every form would take long: one form each. */
                if (way->elsewhere == IN_A_PROGRAM && f != (w + k) % COUNT(forms)) continue;
                kind = kinds + k, way_name = way->name, mark = 'A' + combinations % 26, elsewhere_form = forms + f;
                kind->make();
                check_random(forms + f, 1);
                way->go();
                /* A hint is the memory's: who shares the memory, but not the table, may clear it. */
                if (way->elsewhere) check_random(forms + f, way->elsewhere != IN_OUR_MEMORY); else check(forms + f);
                /* and back: by a way that no hook sees, then by an open */
                RAW(SYS_dup2, saved, number, 0, 0, 0, 0);
                check_random(forms + f, 0);
                shut();
                if (open("/dev/urandom", O_RDONLY) != number) DIE("%s: the number moved", way->name);
                check_random(forms + f, 1);
                if (source >= 0) RAW(SYS_close, source, 0, 0, 0, 0, 0);
                if (other >= 0) RAW(SYS_close, other, 0, 0, 0, 0, 0), other = -1;
                combinations++;
            }
    for (int f = 0; f < COUNT(forms); f++) check_daemon(forms + f), combinations++;
    printf("%d combinations, io_uring %s, hook %s, %llu served\n", combinations, ring < 0 ? "absent" : "present", hooked() ? "present" : "absent", (unsigned long long)served_checks);
    return 0;
}
