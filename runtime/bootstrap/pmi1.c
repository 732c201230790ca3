/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-1 without a PMI library: a line of text to the launcher over the descriptor PMI_FD, and a line back. hydra (mpiexec.hydra)
 * and Slurm (srun --mpi=pmi2) use it. Source: MPICH's "Simple PMI" wire protocol. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 4096
#define VALUE_TEXT_BYTES 768 /* slurmstepd reads request lines of 1 KiB, whatever get_maxes returns */

struct pmi1 {
    struct hx_boot boot;
    int fd;
    char kvsname[256];
    char line[LINE_BYTES]; /* the last answer */
};

/* The decimal number in text, within low .. INT_MAX; else -1. */
static int parse_number(const char *text, int low)
{
    char *end;

    errno = 0;
    const long number = text ? strtol(text, &end, 10) : -1;
    return !text || !*text || *end || errno || number < low || number > INT_MAX ? -1 : (int)number;
}

static int is_socket(int fd)
{
    int type;
    socklen_t bytes = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0;
}

/* If a launcher runs inside the job of another, the inner one counts. Variables of PMIx pass through any program, but a launcher
 * closes descriptors that are not its own. So if PMI_FD is an open socket, the PMI-1 launcher is the inner one; else PMI_FD is left
 * over from the outer job. */
static int pmi1_present(const struct hx_env *env)
{
    static const char *const others[] = {"PMI_RANK", "PMI_SIZE"};
    const char *text = hx_env_launcher("PMI_FD");
    const int fd = parse_number(text, 0);

    if (!text || (env->bootstrap == 0 && hx_env_launcher("PMIX_NAMESPACE") && !is_socket(fd)))
        return 0;
    if (fd < 0 || fcntl(fd, F_GETFD) < 0) {
        hx_fail(HX_ERR_ENV,
                "PMI_FD=%s is not an open descriptor%s. Either a program between the launcher and this one has closed it, or this "
                "process is a child of a rank. To start without PMI, set HX_BOOTSTRAP=single",
                text, fd < 0 ? " number" : "");
        return -1;
    }
    for (int i = 0; i < 2; i++)
        if (parse_number(hx_env_launcher(others[i]), i) < 0) {
            const char *value = hx_env_launcher(others[i]);

            hx_fail(HX_ERR_ENV, "PMI_FD=%s is set, but %s is %s%s", text, others[i],
                    value ? "not a valid number: " : "missing", value ? value : "");
            return -1;
        }
    return 1;
}

static hx_status_t lost(const struct pmi1 *pmi1, const char *command)
{
    return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher behind PMI_FD=%d cannot be reached for %.*s: %s", pmi1->fd,
                   (int)strcspn(command, " \n"), command, errno ? strerror(errno) : "it closed the connection");
}

/* Read one line into pmi1->line, without its newline. The launcher sends only answers, so nothing can follow it. */
static hx_status_t read_line(struct pmi1 *pmi1, const char *command)
{
    const double deadline = hx_deadline(pmi1->boot.timeout);
    size_t used = 0;

    for (;;) {
        const int ready = hx_boot_wait_fd(pmi1->fd, POLLIN, deadline);

        if (ready == 0)
            return hx_fail(HX_ERR_TIMEOUT,
                           "the PMI launcher has not answered %.*s within %g s (HX_TIMEOUT): some of the %d "
                           "ranks have not started, or have not called hx_init",
                           (int)strcspn(command, " \n"), command, pmi1->boot.timeout, pmi1->boot.size);
        errno = 0;
        const ssize_t got = ready < 0 ? -1 : read(pmi1->fd, pmi1->line + used, sizeof pmi1->line - 1 - used);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return lost(pmi1, command);
        used += (size_t)got;
        pmi1->line[used] = '\0';
        if (pmi1->line[used - 1] == '\n') {
            pmi1->line[used - 1] = '\0';
            return HX_SUCCESS;
        }
        if (used == sizeof pmi1->line - 1)
            return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher's answer to %.*s is longer than %d bytes",
                           (int)strcspn(command, " \n"), command, LINE_BYTES - 1);
    }
}

/* The value behind " name=" in the last answer, or NULL; as long as strcspn(value, " "). */
static const char *answer_value(const struct pmi1 *pmi1, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = pmi1->line; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

static int answer_number(const struct pmi1 *pmi1, const char *name, int otherwise)
{
    const char *value = answer_value(pmi1, name);

    return value ? atoi(value) : otherwise;
}

/* If the launcher has ended, no signal may end this process. Some launchers use a pipe. */
static ssize_t tell(int fd, const char *text, size_t length)
{
    const ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);

    return sent < 0 && errno == ENOTSOCK ? write(fd, text, length) : sent;
}

/* Send command (with its newline) and read the answer, which must be "cmd=<expect> ...". */
static hx_status_t ask(struct pmi1 *pmi1, const char *command, const char *expect)
{
    for (size_t sent = 0, length = strlen(command); sent < length;) {
        const ssize_t n = tell(pmi1->fd, command + sent, length - sent);

        if (n < 0 && errno == EAGAIN)
            hx_boot_wait_fd(pmi1->fd, POLLOUT, hx_deadline(pmi1->boot.timeout));
        else if (n < 0 && errno != EINTR)
            return lost(pmi1, command);
        sent += n > 0 ? (size_t)n : 0;
    }
    const hx_status_t status = read_line(pmi1, command);
    if (status)
        return status;
    const char *answer = answer_value(pmi1, "cmd");
    if (!answer || strcspn(answer, " ") != strlen(expect) || strncmp(answer, expect, strlen(expect)) != 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher answered %.*s with \"%.200s\" instead of cmd=%s",
                       (int)strcspn(command, " \n"), command, pmi1->line, expect);
    return HX_SUCCESS;
}

static hx_status_t pmi1_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    struct pmi1 *pmi1 = (struct pmi1 *)boot;
    char command[LINE_BYTES];

    (void)bytes;
    snprintf(command, sizeof command, "cmd=put kvsname=%s key=%s value=%s\n", pmi1->kvsname, key,
             (const char *)value);
    const hx_status_t status = ask(pmi1, command, "put_result");
    if (!status && answer_number(pmi1, "rc", 0) != 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher refused key \"%s\": %.200s", key, pmi1->line);
    return status;
}

static hx_status_t pmi1_fence(struct hx_boot *boot)
{
    struct pmi1 *pmi1 = (struct pmi1 *)boot;
    const hx_status_t status = ask(pmi1, "cmd=barrier_in\n", "barrier_out");

    if (!status && answer_number(pmi1, "rc", 0) != 0)
        return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher's barrier failed: %.200s", pmi1->line);
    return status;
}

static hx_status_t pmi1_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    struct pmi1 *pmi1 = (struct pmi1 *)boot;
    char command[LINE_BYTES];

    (void)owner;
    snprintf(command, sizeof command, "cmd=get kvsname=%s key=%s\n", pmi1->kvsname, key);
    const hx_status_t status = ask(pmi1, command, "get_result");
    const char *text = answer_value(pmi1, "value");
    if (status || !text || answer_number(pmi1, "rc", 0) != 0)
        return status;
    *bytes = strcspn(text, " ");
    *value = strndup(text, *bytes);
    return *value ? HX_SUCCESS : hx_fail(HX_ERR_NOMEM, "no memory for bootstrap key \"%s\"", key);
}

static void pmi1_abort(struct hx_boot *boot, const char *why)
{
    static const char command[] = "cmd=abort exitcode=1\n";

    (void)why; /* the protocol has no place for it */
    if (tell(((struct pmi1 *)boot)->fd, command, sizeof command - 1) < 0)
        errno = 0; /* the launcher is gone already */
}

/* The launcher lets a process in only once, so the connection stays until the process ends. Keys are used once: fences go on counting. */
static struct pmi1 kept; /* kept.boot.kind: NULL: none */
static pid_t kept_by;    /* 0: there never was one */
static int is_lost;      /* since a world has failed, the ranks may count fences differently */

/* At the end of the process. Without it the launcher would take the end for a failure. */
static void kept_finalize(void)
{
    if (kept.boot.kind && kept_by == getpid() && ask(&kept, "cmd=finalize\n", "finalize_ack") == HX_SUCCESS)
        close(kept.fd);
    kept.boot.kind = NULL;
}

static void pmi1_close(struct hx_boot *boot, int finalize)
{
    const int is_first = kept_by == 0;

    if (!finalize || boot->broken) {
        is_lost |= kept_by == getpid();
        return;
    }
    kept = *(struct pmi1 *)boot;
    kept_by = getpid();
    if (is_first && atexit(kept_finalize) != 0) /* no memory: then no other world */
        kept_finalize();
}

static hx_status_t handshake(struct pmi1 *pmi1)
{
    hx_status_t status = ask(pmi1, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");

    if (!status && answer_number(pmi1, "rc", 0) != 0)
        status = hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher does not support PMI version 1: %.200s", pmi1->line);
    if (!status)
        status = ask(pmi1, "cmd=get_maxes\n", "maxes");
    if (status)
        return status;
    const int key_bytes = answer_number(pmi1, "keylen_max", HX_BOOT_KEY_BYTES);
    const int value_bytes = answer_number(pmi1, "vallen_max", VALUE_TEXT_BYTES);
    if (key_bytes < HX_BOOT_KEY_BYTES || value_bytes < 64)
        return hx_fail(HX_ERR_BOOTSTRAP,
                       "the PMI launcher takes keys of %d and values of %d bytes; at least %d and 64 are "
                       "needed",
                       key_bytes, value_bytes, HX_BOOT_KEY_BYTES);
    pmi1->boot.piece_bytes =
        (size_t)(value_bytes < VALUE_TEXT_BYTES ? value_bytes : VALUE_TEXT_BYTES) - 1; /* and a NUL */
    status = ask(pmi1, "cmd=get_my_kvsname\n", "my_kvsname");
    if (status)
        return status;
    const char *kvsname = answer_value(pmi1, "kvsname");
    const size_t length = kvsname ? strcspn(kvsname, " ") : 0;
    if (length == 0 || length >= sizeof pmi1->kvsname)
        return hx_fail(HX_ERR_BOOTSTRAP, "the PMI launcher has no usable kvsname: %.200s", pmi1->line);
    memcpy(pmi1->kvsname, kvsname, length);
    return HX_SUCCESS;
}

static hx_status_t pmi1_open(struct hx_boot *boot, const struct hx_env *env)
{
    struct pmi1 *pmi1 = (struct pmi1 *)boot;

    (void)env;
    if (kept_by && (is_lost || !kept.boot.kind))
        return hx_fail(HX_ERR_BOOTSTRAP, "after a failure of Hierax in this process, the PMI launcher (PMI_FD) cannot start it again; start the "
                                         "process again");
    if (kept_by) {
        const double timeout = boot->timeout;
        *pmi1 = kept;
        kept.boot.kind = NULL;
        boot->timeout = timeout;
        return HX_SUCCESS;
    }
    boot->rank = parse_number(hx_env_launcher("PMI_RANK"), 0);
    boot->size = parse_number(hx_env_launcher("PMI_SIZE"), 1);
    pmi1->fd = parse_number(hx_env_launcher("PMI_FD"), 0);
    if (boot->rank >= boot->size)
        return hx_fail(HX_ERR_ENV, "PMI_RANK=%d, but PMI_SIZE=%d; ranks are 0 to size - 1", boot->rank, boot->size);
    const hx_status_t status = handshake(pmi1);
    if (!status)
        fcntl(pmi1->fd, F_SETFD, FD_CLOEXEC); /* else a program that this rank starts could use it */
    return status;
}

const struct hx_boot_kind hx_boot_pmi1 = {
    .name = "pmi1", .needs = "PMI_FD, PMI_RANK and PMI_SIZE", .bytes = sizeof(struct pmi1), .text = 1, .present = pmi1_present,
    .open = pmi1_open, .put = pmi1_put, .fence = pmi1_fence, .get = pmi1_get, .abort_job = pmi1_abort, .close = pmi1_close};
