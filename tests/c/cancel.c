/* A thread that does nothing but read urandom, in any form, can be cancelled; with
   cancellation disabled it cannot, on the smallest stack there is. Prints how many threads were cancelled. */
#include "reads.h"
#include <limits.h>
#include <pthread.h>
#include <time.h>

static int fd;
static volatile int started, let_go;
static size_t len;

static void *loop(void *form) {
    char bytes[8192];
    for (int i = 0;; i++) {
        if (i == 200) started = 1; /* over its allowance by now */
        if (((const struct form *)form)->call(fd, bytes, len, 0) != (ssize_t)len) DIE("read");
    }
}

static void *disabled(void *form) {
    char bytes[64];
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int i = 0; i < 300; i++) if (((const struct form *)form)->call(fd, bytes, 64, 0) != 64) DIE("read");
    started = 1;
    while (!let_go) ;
    for (int i = 0; i < 300; i++) if (((const struct form *)form)->call(fd, bytes, 64, 0) != 64) DIE("read");
    return form;
}

static void *join(pthread_t thread, const char *what) {
    struct timespec end;
    void *result;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 20;
    if (pthread_timedjoin_np(thread, &result, &end)) DIE("%s: still running", what);
    return result;
}

int main(void) {
    int cancelled = 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    fd = open("/dev/urandom", O_RDONLY);
    for (int f = 0; f < COUNT(forms); f++) {
        static const size_t lens[] = {16, 2000, 8192};
        pthread_t thread;
        for (int l = 0; l < COUNT(lens); l++) {
            len = lens[l], started = 0;
            uint64_t before = counts().private_calls;
            if (pthread_create(&thread, NULL, loop, (void *)(forms + f))) DIE("pthread_create");
            while (!started) ;
            pthread_cancel(thread);
            if (join(thread, forms[f].name) != PTHREAD_CANCELED) DIE("%s: not cancelled", forms[f].name);
            if (hooked() && counts().private_calls == before) DIE("%s: nothing was served", forms[f].name);
            cancelled++;
        }
        started = let_go = 0;
        if (pthread_create(&thread, &small, disabled, (void *)(forms + f))) DIE("pthread_create");
        while (!started) ;
        pthread_cancel(thread);
        let_go = 1;
        if (join(thread, forms[f].name) != forms + f) DIE("%s: cancelled although that was disabled", forms[f].name);
    }
    printf("%d cancelled, hook %s\n", cancelled, hooked() ? "present" : "absent");
    return 0;
}
