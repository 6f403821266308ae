/* A program that is linked with resolver.c. */
#include "proof.h"

int chosen(void);

int main(void)
{
    prove();
    return chosen() ? 0 : 3;
}
