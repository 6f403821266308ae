/* What the tests of the C API share: ends with one line where something is wrong.
 * All of these compile as C11 and as C++11. */
#ifndef TESTS_API_H
#define TESTS_API_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ownpool.h>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            dprintf(2, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__,        \
                    #condition, errno);                                             \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

static inline struct ownpool_stats counts(void) {
    struct ownpool_stats stats;
    CHECK(ownpool_stats(&stats, sizeof stats) == 0);
    return stats;
}

/* Waits for a child that must end with status 0. */
static inline void reap(pid_t child) {
    int status = -1;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
