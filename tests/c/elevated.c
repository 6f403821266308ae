/* Settles, when run set-user-id as another user: settings are not looked at, the
 * mode is off, nothing is printed, and the library's own functions still work.
 * The loader takes no preload there, so this program links the library. */
#include "proof.h"
#include <sys/auxv.h>

const char *ownpool_mode(void);
int ownpool_fill(void *dest, size_t len);

int main(void)
{
    unsigned char block[64] = {0}, zero[64] = {0};
    draw_heavily();
    struct counts light = counts();
    CHECK(ownpool_fill(block, sizeof block) == 0 && memcmp(block, zero, 64) != 0);
    printf("secure %lu mode %s private %llu\n", getauxval(AT_SECURE), ownpool_mode(),
           (unsigned long long)light.private_calls);
    return 0;
}
