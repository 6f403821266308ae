/* Becomes its first argument, with an environment that no shell makes: a name
 * twice, a name without a value, a value without a name, an empty string. Its
 * second argument is preloaded. */
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char preload[4096];
    if (argc != 3)
        return 125;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", argv[2]);
    char *arguments[] = {"policy", NULL};
    char *environment[] = {"HOOKED=1", preload, "OWNPOOL_BURST=320", "OWNPOOL_RATE=1", "OWNPOOL_BURST=640",
        "OWNPOOL_MODE", "=off", "", "OWNPOOL_=", NULL};
    execve(argv[1], arguments, environment);
    return 127;
}
