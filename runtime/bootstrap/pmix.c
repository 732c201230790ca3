/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx, as srun --mpi=pmix and Open MPI's mpirun provide it. libpmix is loaded at run time, so that Hierax needs it only under
 * PMIx. pmix.h gives the types; all calls go through dlsym. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"
#include "runtime/base/process.h"

#define LIBRARY "libpmix.so.2"
#define NEEDS "PMIX_NAMESPACE and PMIX_RANK"

static int pmix_present(const struct hx_env *env)
{
    const char *space = hx_env_launcher("PMIX_NAMESPACE"), *rank = hx_env_launcher("PMIX_RANK");

    (void)env;
    if (!space == !rank)
        return space != NULL;
    hx_fail(HX_ERR_ENV, "%s is set, but %s is not. Start with a PMIx launcher, or set HX_BOOTSTRAP=single to start without it",
            space ? "PMIX_NAMESPACE" : "PMIX_RANK", space ? "PMIX_RANK" : "PMIX_NAMESPACE");
    return -1;
}

#ifndef HAVE_PMIX

static hx_status_t pmix_open(struct hx_boot *boot, const struct hx_env *env)
{
    (void)boot;
    (void)env;
    return hx_fail(HX_ERR_BOOTSTRAP, "PMIx started this process, but this Hierax was built without pmix.h (Debian: "
                                     "libpmix-dev); with Slurm, srun --mpi=pmi2 works too");
}

const struct hx_boot_kind hx_boot_pmix = {
    .name = "pmix", .needs = NEEDS, .bytes = sizeof(struct hx_boot), .present = pmix_present, .open = pmix_open};

#else

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pmix.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PIECE_BYTES 16384 /* far below the shared-memory segments that PMIx servers keep values in */
#define GET_SECONDS 30.0  /* how long a server may search for a value */

/* The entry points used, in the order of their names in pmix_load. */
struct pmix_calls {
    __typeof__(PMIx_Init) *Init;
    __typeof__(PMIx_Finalize) *Finalize;
    __typeof__(PMIx_Abort) *Abort;
    __typeof__(PMIx_Put) *Put;
    __typeof__(PMIx_Commit) *Commit;
    __typeof__(PMIx_Fence_nb) *Fence_nb;
    __typeof__(PMIx_Get) *Get;
    __typeof__(PMIx_Error_string) *Error_string;
};

struct pmix {
    struct hx_boot boot;
    struct pmix_calls calls;
    pmix_proc_t me;
    int fenced;        /* eventfd: PMIx's thread writes 1 + the status of a fence to it */
    int fence_pending; /* a fence timed out: PMIx may still use fenced, so it is never closed */
};

static hx_status_t pmix_load(struct pmix_calls *calls)
{
    static const char *const names[] = {"PMIx_Init",   "PMIx_Finalize", "PMIx_Abort", "PMIx_Put",
                                        "PMIx_Commit", "PMIx_Fence_nb", "PMIx_Get",   "PMIx_Error_string"};
    /* Never closed: PMIx leaves a thread and exit handlers behind. */
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return hx_fail(HX_ERR_BOOTSTRAP,
                       "PMIx started this process, but %s cannot be loaded (Debian: apt-get install "
                       "libpmix2): %s",
                       LIBRARY, dlerror());
    _Static_assert(sizeof *calls == sizeof names, "a name for each");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *symbol = dlsym(library, names[i]);

        if (!symbol)
            return hx_fail(HX_ERR_BOOTSTRAP, "%s lacks %s: too old", LIBRARY, names[i]);
        memcpy((char *)calls + i * sizeof symbol, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    }
    return HX_SUCCESS;
}

static hx_status_t pmix_failed(const struct pmix *pmix, const char *what, const char *key, pmix_status_t rc)
{
    return hx_fail(HX_ERR_BOOTSTRAP, "%s%s%s failed: %s (%d)", what, *key ? " of key " : "", key,
                   pmix->calls.Error_string(rc), (int)rc);
}

static hx_status_t pmix_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    struct pmix *pmix = (struct pmix *)boot;
    pmix_value_t blob = {.type = PMIX_BYTE_OBJECT};

    blob.data.bo.bytes = (char *)value; /* copied by Put, not changed */
    blob.data.bo.size = bytes;
    const pmix_status_t rc = pmix->calls.Put(PMIX_GLOBAL, key, &blob);
    return rc == PMIX_SUCCESS ? HX_SUCCESS : pmix_failed(pmix, "PMIx_Put", key, rc);
}

/* Runs in PMIx's thread. */
static void fence_done(pmix_status_t status, void *fenced)
{
    const uint64_t told = 1 + (uint64_t)(uint32_t)status;

    while (write((int)(intptr_t)fenced, &told, sizeof told) < 0 && errno == EINTR)
        ;
}

static hx_status_t pmix_fence(struct hx_boot *boot)
{
    struct pmix *pmix = (struct pmix *)boot;
    /* set by hand: PMIX_INFO_LOAD and similar macros would call into the library */
    const pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
    pmix_status_t rc = pmix->calls.Commit();
    uint64_t told = 0;

    if (rc != PMIX_SUCCESS)
        return pmix_failed(pmix, "PMIx_Commit", "", rc);
    rc = pmix->calls.Fence_nb(NULL, 0, &collect, 1, fence_done, (void *)(intptr_t)pmix->fenced);
    if (rc == PMIX_OPERATION_SUCCEEDED) /* done at once; no callback will come */
        return HX_SUCCESS;
    if (rc != PMIX_SUCCESS)
        return pmix_failed(pmix, "PMIx_Fence_nb", "", rc);
    if (hx_boot_wait_fd(pmix->fenced, POLLIN, hx_deadline(boot->timeout)) != 1 || read(pmix->fenced, &told, sizeof told) != sizeof told) {
        pmix->fence_pending = 1;
        return hx_fail(HX_ERR_TIMEOUT, "PMIx fence %d has waited %g s (HX_TIMEOUT) for some of the %d ranks",
                       boot->fences, boot->timeout, boot->size);
    }
    rc = (pmix_status_t)(int32_t)(uint32_t)(told - 1);
    return rc == PMIX_SUCCESS ? HX_SUCCESS : pmix_failed(pmix, "PMIx fence", "", rc);
}

/* Not PMIX_IMMEDIATE: with it, servers of PMIx 5 do not find the values of other nodes unless every rank has put one. Without it, a
 * server asks the others for a value that it lacks. For a value that no rank has put it would wait for ever, so there is a limit. */
static hx_status_t pmix_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    struct pmix *pmix = (struct pmix *)boot;
    const double seconds = boot->timeout > 0 && boot->timeout / 4 < GET_SECONDS ? ceil(boot->timeout / 4) : GET_SECONDS;
    const pmix_info_t limit = {.key = PMIX_TIMEOUT, .value = {.type = PMIX_INT, .data.integer = (int)seconds}};
    pmix_proc_t process = pmix->me;
    pmix_value_t *found = NULL;

    process.rank = (pmix_rank_t)owner; /* not PMIX_RANK_UNDEF: some stores of PMIx 4 do not search all ranks */
    const pmix_status_t rc = pmix->calls.Get(&process, key, &limit, 1, &found);
    if (rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_TIMEOUT)
        return HX_SUCCESS;
    if (rc != PMIX_SUCCESS)
        return pmix_failed(pmix, "PMIx_Get", key, rc);
    if (found->type != PMIX_BYTE_OBJECT) {
        const int type = found->type;

        free(found);
        return hx_fail(HX_ERR_BOOTSTRAP, "PMIx_Get of key %s returned type %d, not the bytes that were put", key,
                       type);
    }
    *value = found->data.bo.bytes;
    *bytes = found->data.bo.size;
    free(found);
    return HX_SUCCESS;
}

static void pmix_abort(struct hx_boot *boot, const char *why)
{
    ((struct pmix *)boot)->calls.Abort(1, why, NULL, 0);
}

/* As pmi1.c keeps its connection: libraries of PMIx leak, or fail, when they start again in a process. Values stay in PMIx's store. */
static struct pmix kept; /* kept.boot.kind: NULL: none */
static pid_t kept_by;    /* 0: there never was one */
static int is_lost;      /* since a world has failed, the ranks may count fences differently */

/* At the end of the process, before PMIx's own exit handlers, which are older. */
static void kept_finalize(void)
{
    if (kept.boot.kind && kept_by == getpid())
        kept.calls.Finalize(NULL, 0);
    kept.boot.kind = NULL;
}

static void pmix_close(struct hx_boot *boot, int finalize)
{
    struct pmix *pmix = (struct pmix *)boot;
    const int is_first = kept_by == 0;

    if (!pmix->fence_pending)
        close(pmix->fenced);
    if (!finalize || boot->broken) {
        is_lost |= kept_by == getpid();
        return;
    }
    kept = *pmix;
    kept_by = getpid();
    if (is_first && atexit(kept_finalize) != 0) /* no memory: then no other world */
        kept_finalize();
}

static hx_status_t pmix_start(struct pmix *pmix)
{
    pmix_value_t *size = NULL;
    pmix_status_t rc = pmix->calls.Init(&pmix->me, NULL, 0);

    if (rc != PMIX_SUCCESS)
        return hx_fail(HX_ERR_BOOTSTRAP,
                       "PMIx_Init failed: %s (%d); PMIX_NAMESPACE=%s names a server that does not answer; "
                       "to start without PMIx, set HX_BOOTSTRAP=single",
                       pmix->calls.Error_string(rc), (int)rc, hx_env_launcher("PMIX_NAMESPACE"));
    pmix_proc_t job = pmix->me;
    job.rank = PMIX_RANK_WILDCARD;
    rc = pmix->calls.Get(&job, PMIX_JOB_SIZE, NULL, 0, &size);
    if (rc != PMIX_SUCCESS || size->type != PMIX_UINT32) {
        pmix->calls.Finalize(NULL, 0);
        free(rc == PMIX_SUCCESS ? size : NULL);
        return pmix_failed(pmix, "PMIx_Get", PMIX_JOB_SIZE, rc == PMIX_SUCCESS ? PMIX_ERR_TYPE_MISMATCH : rc);
    }
    pmix->boot.rank = (int)pmix->me.rank;
    pmix->boot.size = (int)size->data.uint32;
    free(size);
    return HX_SUCCESS;
}

/* Is this text a string of /proc/PID/FILE, or in a line of it? -1: it cannot be read. */
static int process_has(int pid, const char *file, const char *text, int delimiter)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    int found = 0;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    FILE *in = fopen(path, "re");
    if (!in)
        return -1;
    while (!found && getdelim(&line, &capacity, delimiter, in) > 0)
        found = delimiter ? strstr(line, text) != NULL : strcmp(line, text) == 0;
    free(line);
    fclose(in);
    return found;
}

/* PMIx takes a child of a rank for the rank itself, and both would wait for ever. So search the ancestors for the rank: it has the
 * same name in PMIx and maps a segment of Hierax. Returns the pid of the nearest such process; 0: there is none. */
static int rank_above(void)
{
    char space[600], rank[64];

    snprintf(space, sizeof space, "PMIX_NAMESPACE=%s", hx_env_launcher("PMIX_NAMESPACE"));
    snprintf(rank, sizeof rank, "PMIX_RANK=%s", hx_env_launcher("PMIX_RANK"));
    for (int pid = getppid(); pid > 1; pid = hx_process_stat(pid, HX_PROCESS_PARENT)) {
        if (process_has(pid, "environ", space, '\0') != 1 || process_has(pid, "environ", rank, '\0') != 1)
            return 0;
        if (process_has(pid, "maps", "/memfd:hierax", '\n') == 1)
            return pid;
    }
    return 0;
}

static hx_status_t pmix_open(struct hx_boot *boot, const struct hx_env *env)
{
    struct pmix *pmix = (struct pmix *)boot;
    const int above = rank_above();

    (void)env;
    if (kept_by && (is_lost || !kept.boot.kind))
        return hx_fail(HX_ERR_BOOTSTRAP, "after a failure of Hierax in this process, PMIx cannot start it again; start the process again");
    if (kept_by) {
        boot->rank = kept.boot.rank;
        boot->size = kept.boot.size;
        boot->fences = kept.boot.fences;
        pmix->calls = kept.calls;
        pmix->me = kept.me;
        kept.boot.kind = NULL;
    }
    boot->piece_bytes = PIECE_BYTES;
    pmix->fenced = eventfd(0, EFD_CLOEXEC);
    if (pmix->fenced < 0)
        return hx_fail(HX_ERR_NOMEM, "cannot create an eventfd: %s", strerror(errno));
    if (kept_by)
        return HX_SUCCESS;
    if (above > 0)
        return hx_fail(HX_ERR_ENV, "process %d, an ancestor of this one, is rank %s of this PMIx job. The child of a rank cannot "
                                   "join the job. For a job of its own, start it by a launcher, or unset PMIX_NAMESPACE and "
                                   "PMIX_RANK", above, hx_env_launcher("PMIX_RANK"));
    const hx_status_t status = pmix_load(&pmix->calls);
    return status ? status : pmix_start(pmix);
}

const struct hx_boot_kind hx_boot_pmix = {
    .name = "pmix", .needs = NEEDS, .bytes = sizeof(struct pmix), .present = pmix_present, .open = pmix_open, .put = pmix_put,
    .fence = pmix_fence, .get = pmix_get, .abort_job = pmix_abort, .close = pmix_close};

#endif
