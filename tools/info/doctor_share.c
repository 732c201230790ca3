/* SPDX-License-Identifier: BSD-3-Clause */
/* Sharing within a node: the segment, and reading another process's memory. Both are really tried. */
#include "tools/info/doctor.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_SECONDS 4 /* twice, within the limit of a check */
#define SEGMENT_BYTES ((off_t)1 << 30) /* spans; what is not touched is free */

/* ---- memfd ---- */

/* Ranks of a node meet at an abstract socket. 0, or an errno. This process ends after the check, and its sockets with it. */
static int socket_meet(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "hierax-doctor-%d", (int)getpid());
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    const int host = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), guest = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    return host < 0 || guest < 0 || bind(host, (struct sockaddr *)&name, bytes) < 0 || listen(host, 1) < 0 ||
           connect(guest, (struct sockaddr *)&name, bytes) < 0 ? errno : 0;
}

void doctor_memfd(struct doctor_exam *exam)
{
    struct rlimit limit = {0};
    const int fd = memfd_create("hierax-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING), refused = fd < 0 ? errno : 0;
    unsigned char *base = MAP_FAILED;
    char noexec[32];

    doctor_read_line("/proc/sys/vm", "memfd_noexec", noexec, sizeof(noexec));
    getrlimit(RLIMIT_FSIZE, &limit);
    if (refused == EACCES && atoi(noexec) >= 2) {
        doctor_find(exam, DOCTOR_FAIL, "sysctl vm.memfd_noexec=1", "memfd_create is refused: sysctl vm.memfd_noexec is %s", noexec);
    } else if (refused) {
        doctor_find(exam, DOCTOR_FAIL, NULL, "memfd_create is refused: %s", strerror(refused));
    } else if (limit.rlim_cur < (rlim_t)SEGMENT_BYTES) {
        doctor_find(exam, DOCTOR_FAIL, "ulimit -f unlimited",
                    "the file size limit (ulimit -f) is %llu KiB, and also limits the segment",
                    (unsigned long long)limit.rlim_cur >> 10);
    } else if (ftruncate(fd, SEGMENT_BYTES) < 0 ||
               (base = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        doctor_find(exam, DOCTOR_FAIL, NULL, "a segment that spans 1 GiB cannot be made: %s", strerror(errno));
    } else {
        base[0] = 1; /* a page of it is really there */
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
            doctor_find(exam, DOCTOR_FAIL, NULL, "the segment cannot be sealed: %s", strerror(errno));
        else if (ftruncate(fd, 4096) == 0)
            doctor_find(exam, DOCTOR_FAIL, NULL, "a sealed segment could be shrunk: this kernel or sandbox does not keep seals");
    }
    const int apart = refused ? 0 : socket_meet();
    if (apart)
        doctor_find(exam, DOCTOR_FAIL, NULL, "processes cannot connect to an abstract Unix socket: %s", strerror(apart));
}

/* ---- reading another process's memory ---- */

/* In a child, from its parent: 0, or why not. */
static int word_read(void *word)
{
    char copy[8] = "";
    struct iovec here = {copy, sizeof(copy)}, there = {word, sizeof(copy)};

    if (process_vm_readv(getppid(), &here, 1, &there, 1, 0) != sizeof(copy))
        return errno ? errno : EIO;
    return memcmp(copy, word, sizeof(copy)) ? EIO : 0;
}

/* Report the cause of the refusal. */
static void cma_denied(struct doctor_exam *exam, int error, int scope)
{
    const char *call = "process_vm_readv between two processes of this user is denied", *why = strerror(error);
    const int is_filtered = doctor_status("Seccomp:", 10) > 0;

    if (scope >= 2)
        doctor_find(exam, DOCTOR_WARN, "sysctl kernel.yama.ptrace_scope=1", "%s (%s): yama's ptrace_scope is %d", call, why, scope);
    else if (error == ENOSYS && !is_filtered)
        doctor_find(exam, DOCTOR_WARN, "use a kernel with CONFIG_CROSS_MEMORY_ATTACH", "%s: this kernel has no such call", call);
    else if (prctl(PR_GET_DUMPABLE) != 1)
        doctor_find(exam, DOCTOR_WARN, "run a program that its user may read, without set-user-ID bit and file capabilities",
                    "%s (%s): this process is marked as not dumpable", call, why);
    else if (is_filtered)
        doctor_find(exam, DOCTOR_WARN, NULL, "%s (%s): this process has a seccomp filter, as containers do", call, why);
    else
        doctor_find(exam, DOCTOR_WARN, NULL, "%s: %s", call, why);
}

void doctor_cma(struct doctor_exam *exam)
{
    char scope[32], word[8] = "hierax!";
    int error, allowed = 0;

    doctor_read_line("/proc/sys/kernel/yama", "ptrace_scope", scope, sizeof(scope));
    error = doctor_try(exam, word_read, word, READ_SECONDS);
    if (error > 0 && error < DOCTOR_KILLED) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* as a rank could */
        allowed = 1;
        error = doctor_try(exam, word_read, word, READ_SECONDS);
    }
    exam->single_copy = error == 0;
    if (error == 0 && allowed)
        doctor_find(exam, DOCTOR_OK, NULL,
                    "a process can read another's memory if the other permits it, as ranks do (yama's ptrace_scope is %s)", scope);
    else if (error == 0)
        doctor_find(exam, DOCTOR_OK, NULL, "a process can read another's memory (process_vm_readv)");
    else if (error >= DOCTOR_KILLED)
        doctor_find(exam, DOCTOR_WARN, "set HX_SINGLE_COPY=0: Hierax then does not call process_vm_readv",
                    "process_vm_readv ended the process that called it (%s)",
                    error == DOCTOR_KILLED + SIGALRM ? "it did not return" : strsignal(error - DOCTOR_KILLED));
    else if (error > 0)
        cma_denied(exam, error, atoi(scope));
}
