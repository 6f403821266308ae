/* Writes every system call that a program and its children enter: pid, number
 * and first argument, a line each. trace OUTPUT PROGRAM [ARGUMENT]... */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>

int main(int argc, char **argv)
{
    FILE *out = argc > 2 ? fopen(argv[1], "we") : NULL;
    if (!out)
        return 125;
    pid_t first = fork();
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        /* The traced program's settings come in under a name that is not ours. */
        const char *preload = getenv("TRACED_PRELOAD");
        if (preload)
            setenv("LD_PRELOAD", preload, 1);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    int status, result = 124;
    if (first < 0 || waitpid(first, &status, 0) != first)
        return 125;
    ptrace(PTRACE_SETOPTIONS, first, NULL,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
               PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, first, NULL, 0L);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        long deliver = 0;
        if (WIFSTOPPED(status)) {
            int number = WSTOPSIG(status);
            if (number == (SIGTRAP | 0x80)) {
                struct ptrace_syscall_info info;
                if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) > 0 &&
                    info.op == PTRACE_SYSCALL_INFO_ENTRY)
                    fprintf(out, "%d %lld %lld\n", pid, (long long)info.entry.nr, (long long)info.entry.args[0]);
            } else if (number != SIGTRAP && number != SIGSTOP)
                deliver = number;
            ptrace(PTRACE_SYSCALL, pid, NULL, deliver);
        } else if (pid == first)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return fclose(out) == 0 ? result : 125;
}
