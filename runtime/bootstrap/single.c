/* SPDX-License-Identifier: BSD-3-Clause */
/* A job of one rank: the store is a table in this process. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"
#include "runtime/base/keyvalue.h"
#include "runtime/base/log.h"

#include <stdlib.h>
#include <string.h>

struct single {
    struct hx_boot boot;
    struct hx_keyvalue values;
};

static hx_status_t single_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    if (hx_keyvalue_put(&((struct single *)boot)->values, key, strlen(key), value, bytes) != 0)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of bootstrap key \"%s\"", bytes, key);
    return HX_SUCCESS;
}

static hx_status_t single_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    const void *found = hx_keyvalue_get(&((struct single *)boot)->values, key, strlen(key), bytes);

    (void)owner;
    if (!found)
        return HX_SUCCESS;
    *value = malloc(*bytes ? *bytes : 1);
    if (!*value)
        return hx_fail(HX_ERR_NOMEM, "no memory for %zu bytes of bootstrap key \"%s\"", *bytes, key);
    memcpy(*value, found, *bytes);
    return HX_SUCCESS;
}

static void single_close(struct hx_boot *boot, int finalize)
{
    (void)finalize;
    hx_keyvalue_clear(&((struct single *)boot)->values);
}

static int single_present(const struct hx_env *env)
{
    (void)env;
    return 1;
}

/* The most common start-up mistake: each process of a job runs alone. */
static void warn_if_not_alone(void)
{
    static const struct {
        const char *variable, *launcher, *remedy;
    } hints[] = {
        {"SLURM_STEP_NUM_TASKS", "srun",
         "start it with srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list shows what there is)"},
        {"OMPI_COMM_WORLD_SIZE", "mpirun",
         "pass PMIX_NAMESPACE and PMIX_RANK on in the environment"},
        {"PMI_SIZE", "a PMI launcher", "pass PMI_FD on in the environment"},
    };

    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        const char *count = hx_env_launcher(hints[i].variable);

        if (count && atoi(count) > 1) {
            hx_warn("%s started %s processes (%s), but gave this one no PMI, so it is a job of 1 rank. To fix this, %s, or set "
                    "HX_ROOT, HX_RANK and HX_SIZE. HX_BOOTSTRAP=single silences this warning",
                    hints[i].launcher, count, hints[i].variable, hints[i].remedy);
            return;
        }
    }
}

static hx_status_t single_open(struct hx_boot *boot, const struct hx_env *env)
{
    boot->size = 1;
    boot->piece_bytes = SIZE_MAX;
    if (env->bootstrap == 0)
        warn_if_not_alone();
    return HX_SUCCESS;
}

const struct hx_boot_kind hx_boot_single = {
    .name = "single", .needs = "none", .bytes = sizeof(struct single), .present = single_present, .open = single_open,
    .put = single_put, .get = single_get, .close = single_close};
