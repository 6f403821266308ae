/* Settles: the version and the ChaCha20 backend that the library reports. */
#include "proof.h"

int main(void)
{
    prove();
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "ownpool_version");
    CHECK(version);
    puts(version());
}
