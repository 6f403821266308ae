/* One thread swaps what a number is, another reads it: a read that begins after a swap
   and ends before the next one gives what the number is, nothing else. Argument:
   milliseconds for each form of read. Prints how many reads were judged. */
#include "reads.h"
#include <pthread.h>
#include <time.h>

static int number, urandom, file;
static volatile unsigned turn; /* odd while the number is being changed; then /2: even is urandom */
static volatile int over;

static void *swap(void *x) {
    (void)x;
    while (!over) {
        __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
        int next = (turn / 2) % 2 ? urandom : file; /* after this change the count is even */
        dup2(next, number);
        __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
        for (volatile int spin = 0; spin < 3000; spin++) ;
        if (next == urandom && turn % 64 == 0) { /* hinted anew, by an open that is seen */
            __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
            RAW(SYS_close, number, 0, 0, 0, 0, 0);
            if (open("/dev/urandom", O_RDONLY) != number) DIE("the number moved");
            __atomic_fetch_add(&turn, 3, __ATOMIC_SEQ_CST);
            for (volatile int spin = 0; spin < 3000; spin++) ;
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    long ms = argc > 1 ? atol(argv[1]) : 100, judged[2] = {0, 0};
    char path[] = "/tmp/ownpool-race-XXXXXX", bytes[4096];
    urandom = fcntl(open("/dev/urandom", O_RDONLY), F_DUPFD, 100);
    file = fcntl(mkstemp(path), F_DUPFD, 101);
    unlink(path);
    memset(bytes, 'A', sizeof bytes);
    if (write(file, bytes, sizeof bytes) != sizeof bytes || write(file, bytes, sizeof bytes) != sizeof bytes) DIE("write");
    for (int i = 0; i < 20; i++) RAW(SYS_close, 3 + i, 0, 0, 0, 0, 0);
    number = open("/dev/urandom", O_RDONLY);
    for (int i = 0; i < 300; i++) if (read(number, bytes, 64) != 64) DIE("warm");
    pthread_t thread;
    turn = 0; /* urandom */
    if (pthread_create(&thread, NULL, swap, NULL)) DIE("pthread_create");
    for (int f = 0; f < COUNT(forms); f++) {
        struct timespec now, end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += ms * 1000000;
        do {
            static const size_t lens[] = {64, 600, 4096};
            size_t len = lens[judged[0] % 3];
            lseek(file, 0, SEEK_SET);
            unsigned before = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
            ssize_t got = forms[f].call(number, bytes, len, 0);
            unsigned after = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
            if (before == after && before % 2 == 0) {
                int is_file = (before / 2) % 2;
                judged[is_file]++;
                if (got != (ssize_t)len) DIE("%s: %zd bytes of %zu", forms[f].name, got, len);
                if (is_file) {
                    for (size_t i = 0; i < len; i++) if (bytes[i] != 'A') DIE("%s: byte %zu of a file is random", forms[f].name, i);
                } else if (!is_random(bytes, 'A') || !is_random(bytes + len - 64, 'A')) DIE("%s: urandom is not random", forms[f].name);
            }
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec * 1000000000 + now.tv_nsec < end.tv_sec * 1000000000 + end.tv_nsec);
    }
    over = 1;
    pthread_join(thread, NULL);
    printf("random %ld, file %ld, hook %s, served %lu\n", judged[0], judged[1], hooked() ? "present" : "absent", (unsigned long)counts().private_calls);
    return 0;
}
