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

#define SEGMENT_BYTES ((off_t)1 << 30) /* spans; what is not touched is free */

/* ---- memfd ---- */

static void memfd_refused(struct doctor_finding *f, int error)
{
    char noexec[32];

    doctor_read_line("/proc/sys/vm/memfd_noexec", noexec, sizeof(noexec));
    if (error == EACCES && atoi(noexec) >= 2)
        doctor_find(f, DOCTOR_FAIL, "sysctl vm.memfd_noexec=1", "memfd_create is refused: sysctl vm.memfd_noexec is %s",
                    noexec);
    else
        doctor_find(f, DOCTOR_FAIL, NULL, "memfd_create is refused: %s", strerror(error));
}

/* Ranks of a node meet at an abstract socket. */
static int socket_meet(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "hierax-doctor-%d", (int)getpid());
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int host = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
        guest = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int good = host >= 0 && guest >= 0 && bind(host, (struct sockaddr *)&name, bytes) == 0 && listen(host, 1) == 0 &&
               connect(guest, (struct sockaddr *)&name, bytes) == 0;
    int error = good ? 0 : errno;

    if (host >= 0)
        close(host);
    if (guest >= 0)
        close(guest);
    return error;
}

void doctor_memfd(struct doctor_facts *facts, struct doctor_finding *f)
{
    struct rlimit limit = {0};
    int fd = memfd_create("hierax-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
    unsigned char *base = MAP_FAILED;

    (void)facts;
    if (fd < 0) {
        memfd_refused(f, errno);
        return;
    }
    getrlimit(RLIMIT_FSIZE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < (rlim_t)SEGMENT_BYTES) {
        doctor_find(f, DOCTOR_FAIL, "ulimit -f unlimited",
                    "the file size limit (ulimit -f) is %llu KiB, and holds for the segment too",
                    (unsigned long long)limit.rlim_cur >> 10);
    } else if (ftruncate(fd, SEGMENT_BYTES) < 0 ||
               (base = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED) {
        doctor_find(f, DOCTOR_FAIL, NULL, "a segment that spans 1 GiB cannot be made: %s", strerror(errno));
    } else {
        base[0] = 1; /* a page of it is really there */
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
            doctor_find(f, DOCTOR_FAIL, NULL, "the segment cannot be sealed: %s", strerror(errno));
        else if (ftruncate(fd, 4096) == 0)
            doctor_find(f, DOCTOR_FAIL, NULL,
                        "a sealed segment could be shrunk: this kernel or sandbox does not keep seals");
    }
    if ((error = socket_meet()) != 0)
        doctor_find(f, DOCTOR_FAIL, NULL, "processes cannot meet at an abstract Unix socket: %s", strerror(error));
    if (!f->text[0])
        doctor_find(f, DOCTOR_OK, NULL, "a segment can be made, mapped and sealed, and ranks can meet");
}

/* ---- reading another process's memory ---- */

struct target {
    pid_t pid;
    const char *word;
};

/* In the child: 0, or why not. */
static int word_read(void *ctx)
{
    struct target *target = ctx;
    char copy[8] = "";
    struct iovec here = {copy, sizeof(copy)}, there = {(void *)(uintptr_t)target->word, sizeof(copy)};

    if (process_vm_readv(target->pid, &here, 1, &there, 1, 0) != sizeof(copy))
        return errno ? errno : EIO;
    return memcmp(copy, target->word, sizeof(copy)) ? EIO : 0;
}

static int status_number(const char *key)
{
    char line[128], format[64];
    FILE *in = fopen("/proc/self/status", "re");
    int value = -1;

    snprintf(format, sizeof(format), "%s: %%d", key);
    while (in && fgets(line, sizeof(line), in) && value < 0)
        if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
            sscanf(line + strlen(key) + 1, "%d", &value);
    if (in)
        fclose(in);
    return value;
}

/* Whoever refused it. */
static void cma_denied(struct doctor_finding *f, int error, int scope)
{
    const char *call = "process_vm_readv between two processes of this user is denied";

    if (scope >= 2)
        doctor_find(f, DOCTOR_WARN, "sysctl kernel.yama.ptrace_scope=1", "%s (%s): yama's ptrace_scope is %d", call,
                    strerror(error), scope);
    else if (error == ENOSYS && status_number("Seccomp") <= 0)
        doctor_find(f, DOCTOR_WARN, "use a kernel with CONFIG_CROSS_MEMORY_ATTACH", "%s: this kernel has no such call",
                    call);
    else if (prctl(PR_GET_DUMPABLE) != 1)
        doctor_find(f, DOCTOR_WARN,
                    "run a program without the set-user-ID bit or file capabilities, that its user may read",
                    "%s (%s): this process is marked as not to be looked into (not dumpable)", call, strerror(error));
    else if (status_number("Seccomp") > 0)
        doctor_find(f, DOCTOR_WARN, NULL, "%s (%s): this process has a seccomp filter, as containers do", call,
                    strerror(error));
    else
        doctor_find(f, DOCTOR_WARN, NULL, "%s: %s", call, strerror(error));
}

void doctor_cma(struct doctor_facts *facts, struct doctor_finding *f)
{
    struct target target = {getpid(), "hierax!"};
    char line[32];
    int first = doctor_try(word_read, &target, 5), second;

    facts->single_copy = first == 0;
    if (first == 0) {
        doctor_find(f, DOCTOR_OK, NULL, "one process can read another's memory (process_vm_readv)");
        return;
    }
    if (first >= DOCTOR_UNTRIED) {
        doctor_find_untried(f);
        return;
    }
    if (first >= DOCTOR_KILLED) {
        doctor_find(f, DOCTOR_WARN, "HX_SINGLE_COPY=0, so that Hierax does not try", "process_vm_readv ended the process that called it (%s)",
                    first >= DOCTOR_LATE ? "it did not return" : strsignal(first - DOCTOR_KILLED));
        return;
    }
    doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", line, sizeof(line));
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* as a rank could */
    second = doctor_try(word_read, &target, 5);
    facts->single_copy = second == 0;
    if (second == 0)
        doctor_find(f, DOCTOR_OK, NULL,
                    "one process can read another's memory that allows it, as ranks do (yama's ptrace_scope is %s)", line);
    else if (second >= DOCTOR_UNTRIED)
        doctor_find_untried(f);
    else
        cma_denied(f, second, atoi(line));
}
