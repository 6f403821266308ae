/* A plugin that draws its own random bytes: a shared object that is linked with the library,
 * for a host that knows nothing of it. plugin_host.c loads it.
 *
 *     cc -shared -fPIC plugin.c -o plugin.so $(pkg-config --cflags --libs ownpool)
 */
#include <ownpool.h>

/* Six dice, each 1 to 6. */
void plugin_roll(unsigned char dice[6]) {
    for (int i = 0; i < 6; i++) dice[i] = (unsigned char)(1 + ownpool_uniform(6));
}

int plugin_token(unsigned char token[16]) {
    return ownpool_fill(token, 16);
}
