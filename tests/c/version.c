/* Settles: which version and which ChaCha20 backend the library says it is. */
#include "proof.h"

int main(void)
{
    prove();
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "ownpool_version");
    CHECK(version);
    puts(version());
}
