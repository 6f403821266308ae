/* A program that has used up the first 32 pthread keys before the library comes, by dlopen:
 * then only the thread that the process started with can have a generator, since only
 * that one needs no destructor. "main" loads on that thread, "other" on a second one,
 * whose successors get the same addresses and must not be taken for it. */
#include "api.h"
#include <dlfcn.h>
#include <pthread.h>

static int (*fill)(void *, size_t);
static int (*stats)(struct ownpool_stats *, size_t);

static void load(void) {
    void *library = dlopen("libownpool.so.0", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    void *symbol = dlsym(library, "ownpool_fill");
    memcpy(&fill, &symbol, sizeof fill);
    symbol = dlsym(library, "ownpool_stats");
    memcpy(&stats, &symbol, sizeof stats);
    CHECK(fill != NULL && stats != NULL);
}

static void draw(void) {
    unsigned char bytes[32];
    for (int i = 0; i < 100; i++) CHECK(fill(bytes, sizeof bytes) == 0);
}

static void *work(void *unused) {
    if (fill == NULL) load();
    draw();
    return unused;
}

static uint64_t moved(void) {
    struct ownpool_stats now;
    CHECK(stats(&now, sizeof now) == 0);
    return now.threads_moved;
}

int main(int argc, char **argv) {
    pthread_key_t key;
    CHECK(argc == 2);
    for (int i = 0; i < 40; i++) CHECK(pthread_key_create(&key, NULL) == 0);
    if (strcmp(argv[1], "main") == 0) load();
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        CHECK(pthread_create(&id, NULL, work, NULL) == 0 && pthread_join(id, NULL) == 0);
    }
    CHECK(moved() == 0);
    draw();
    CHECK(moved() == (strcmp(argv[1], "main") == 0));
    return 0;
}
