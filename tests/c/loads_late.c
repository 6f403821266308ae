/* Settles: a program that loads the library itself, by dlopen, gets its functions
 * and loses nothing: libc's names stay its own, threads that exist already can
 * draw, and dlclose leaves the code where destructors will need it. */
#include "proof.h"
#include <pthread.h>

static int (*fill)(void *, size_t);
static pthread_barrier_t loaded;
static struct blocks *table;

static void draw(void)
{
    unsigned char block[32];
    for (int call = 0; call < 300; call++) {
        CHECK(fill(block, sizeof block) == 0);
        note_blocks(table, block, sizeof block);
    }
}

static void *older_thread(void *unused)
{
    pthread_barrier_wait(&loaded);
    draw();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t id;
    CHECK(argc == 2);
    prove();
    table = make_blocks(1 << 12);
    CHECK(pthread_barrier_init(&loaded, NULL, 2) == 0 && pthread_create(&id, NULL, older_thread, NULL) == 0);
    void *libc = dlsym(RTLD_DEFAULT, "getrandom");
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library && dlsym(RTLD_DEFAULT, "getrandom") == libc);
    fill = (int (*)(void *, size_t))dlsym(library, "ownpool_fill");
    ssize_t (*draws)(void *, size_t, unsigned) = (ssize_t (*)(void *, size_t, unsigned))dlsym(library, "getrandom");
    CHECK(fill && draws && (void *)draws != libc);
    pthread_barrier_wait(&loaded);
    draw();
    unsigned char block[16];
    for (int call = 0; call < 300; call++)
        CHECK(draws(block, sizeof block, 0) == sizeof block);
    CHECK(draws(block, sizeof block, 0x100) == -1 && errno == EINVAL);
    CHECK(dlclose(library) == 0);
    CHECK(pthread_join(id, NULL) == 0);
    draw();
    CHECK(repeats(table) == 0); /* 2,000 blocks: 2^-107 */
    puts("ok");
    return 0;
}
