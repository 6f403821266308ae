/* A program that loads plugin.so by dlopen(3), uses it on a thread, and closes it while the
 * thread goes on.
 *
 *     cc -pthread plugin_host.c -o plugin_host -ldl && ./plugin_host ./plugin.so
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void *use(void *path) {
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    /* POSIX lets a data pointer of dlsym hold a function; C wants it copied. */
    void (*roll)(unsigned char *);
    int (*token)(unsigned char *);
    void *symbol = dlsym(plugin, "plugin_roll");
    memcpy(&roll, &symbol, sizeof roll);
    symbol = dlsym(plugin, "plugin_token");
    memcpy(&token, &symbol, sizeof token);

    unsigned char dice[6], bytes[16];
    roll(dice);
    if (token(bytes) != 0) return NULL;
    printf("dice");
    for (int i = 0; i < 6; i++) printf(" %d", dice[i]);
    printf("\ntoken ");
    for (int i = 0; i < 16; i++) printf("%02x", bytes[i]);
    printf("\n");
    /* The library stays loaded: this thread's generator is erased when the thread ends. */
    dlclose(plugin);
    return path;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *done = NULL;
    char standard[] = "./plugin.so", *path = argc > 1 ? argv[1] : standard;
    for (int round = 0; round < 3; round++) {
        if (pthread_create(&thread, NULL, use, path) != 0) return 1;
        pthread_join(thread, &done);
        if (done == NULL) return 1;
    }
    return 0;
}
