/* SPDX-License-Identifier: BSD-3-Clause */
/* Plant a fault, then run a command with it: what a container, a security module or an administrator does to a job.
 * usage: plant FAULT command...; faults:
 *   refuse=SYSCALL   process_vm_readv, memfd_create or clone is EPERM, by a seccomp filter
 *   kill=SYSCALL     the same ends the process
 *   memlock=KIB      locked memory; without CAP_IPC_LOCK, so that it holds for root too
 *   files=N          open files */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_IPC_LOCK 14

static int filter(const char *name, unsigned action)
{
    unsigned number = !strcmp(name, "memfd_create") ? SYS_memfd_create : !strcmp(name, "clone") ? SYS_clone : SYS_process_vm_readv;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0;
}

static int limit(int which, const char *text, unsigned long unit)
{
    struct rlimit value = {strtoul(text, NULL, 10) * unit, strtoul(text, NULL, 10) * unit};

    return setrlimit(which, &value) < 0;
}

int main(int argc, char **argv)
{
    const char *value = argc > 2 ? strchr(argv[1], '=') : NULL;
    int failed = 1;

    if (!value++)
        return 2;
    if (!strncmp(argv[1], "refuse=", 7)) {
        failed = filter(value, SECCOMP_RET_ERRNO | EPERM);
    } else if (!strncmp(argv[1], "kill=", 5)) {
        failed = filter(value, SECCOMP_RET_KILL_PROCESS);
    } else if (!strncmp(argv[1], "memlock=", 8)) {
        failed = limit(RLIMIT_MEMLOCK, value, 1024);
        prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK); /* fails for who has not got it anyway */
    } else if (!strncmp(argv[1], "files=", 6)) {
        failed = limit(RLIMIT_NOFILE, value, 1);
    }
    if (failed) {
        perror(argv[1]);
        return 2;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
