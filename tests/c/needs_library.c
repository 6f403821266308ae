/* Uses early_library.c: linked (LINKED defined), or loaded and unloaded twice. */
#include "proof.h"

int early_library(void);

int main(int argc, char **argv)
{
    prove();
#ifdef LINKED
    (void)argc;
    (void)argv;
    CHECK(early_library() == 42);
#else
    CHECK(argc == 2);
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (round ? RTLD_DEEPBIND : 0));
        CHECK(library);
        int (*use)(void) = (int (*)(void))dlsym(library, "early_library");
        CHECK(use && use() == 42);
        CHECK(dlclose(library) == 0);
    }
#endif
    return 0;
}
