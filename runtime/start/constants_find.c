/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the constants of rank 0's node. Rank 0 reads the file that HX_CONSTANTS names, or else the user's or the site's file for this
 * processor and placement. If there is none, rank 0 and a second rank measure them, and rank 0 writes the file. If this fails,
 * Hierax uses the built-in values: nothing here makes a job fail.
 */
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/engine/shm_write.h"
#include "runtime/start/constants_measure.h"
#include "runtime/start/startup.h"
#include "topo/cpu_model.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_OF_FILE "%s%s/hierax/constants-%016llx" /* a folder, and what follows in it; the machine's hash */

static const char *where(int16_t mine, int16_t theirs)
{
    return mine < 0 || theirs < 0 ? "any" : mine == theirs ? "same" : "other";
}

/* The processor and the placement, for which a file holds. A virtual machine may place the same cores near each other today, and far apart
 * tomorrow. */
static void machine_write(const struct hx_world *world, const struct hx_place *place, int line_ns, char machine[HX_CONSTANTS_MACHINE_BYTES])
{
    const struct hx_shared *shared = world->process.shared;
    const int partner = hx_probe_partner(shared);
    const int16_t *mine = shared->table[shared->ranks[0]].place, *theirs = shared->table[shared->ranks[partner]].place;
    char model[HX_CPU_MODEL_BYTES];

    hx_cpu_model(model);
    snprintf(machine, HX_CONSTANTS_MACHINE_BYTES, "%s; %d ranks, %d per 1000 cores; %s socket, %s NUMA node, %s L3 cache, %s core; %s", model,
             shared->n, (int)(1e3 * hx_world_ranks_per_cpu(world, place)), where(mine[0], theirs[0]), where(mine[1], theirs[1]),
             where(mine[2], theirs[2]), where((int16_t)shared->doorbells[0].cpu, (int16_t)shared->doorbells[partner].cpu),
             hx_share_is_far(line_ns, world->process.env->far_ns) ? "around the caches" : "by the caches");
}

/* The user's file for this machine. Returns 0, or -1: no folder is known, or the path is too long. */
static int user_path(const char *machine, char path[PATH_MAX])
{
    const char *cache = hx_env_launcher("XDG_CACHE_HOME"), *home = hx_env_launcher("HOME"), *below = "";

    if (!cache || *cache != '/') {
        cache = home;
        below = "/.cache";
    }
    if (!cache || *cache != '/')
        return -1;
    return snprintf(path, PATH_MAX, PATH_OF_FILE, cache, below, (unsigned long long)hx_constants_hash(machine)) < PATH_MAX
               ? 0 : -1;
}

/* Read a file, if it is there. named: the user has named it: it holds on any machine, and a fault of it is a warning. Returns 1: there is no
 * file that can be used, and one may be written; else 0. */
static int file_read(const char *path, int named, const char *machine, struct hx_constants *constants)
{
    char made[HX_CONSTANTS_MACHINE_BYTES];
    struct hx_constants found = {0};
    hx_status_t status = hx_constants_read(path, &found, made);

    if (status == HX_ERR_STATE)
        return 1;
    if (status == HX_SUCCESS && strcmp(made, machine) != 0)
        hx_info("HX_CONSTANTS: %s is for \"%s\", this is \"%s\"%s", path, made, machine, named ? "" : ": Hierax measures instead");
    if (status == HX_SUCCESS && (named || !strcmp(made, machine))) {
        *constants = found;
        return 0;
    }
    if (status != HX_SUCCESS)
        hx_log(named ? HX_LOG_WARN : HX_LOG_INFO, "HX_CONSTANTS: %s: Hierax measures instead", hx_last_detail());
    return !named; /* a file of Hierax's own is replaced */
}

/* Look for a file. Returns 1, and its path: there is none, and it may be written. */
static int files_look(const struct hx_world *world, const char *machine, char path[PATH_MAX], struct hx_constants *constants)
{
    const char *named = world->process.env->constants;
    char site[PATH_MAX];
    int writes;

    if (named) {
        snprintf(path, PATH_MAX, "%s", named);
        return file_read(path, 1, machine, constants);
    }
    writes = user_path(machine, path) == 0 && file_read(path, 0, machine, constants);
    if (constants->source == HX_CONSTANTS_BUILT_IN) {
        snprintf(site, sizeof(site), PATH_OF_FILE, HX_SYSCONFDIR, "", (unsigned long long)hx_constants_hash(machine));
        file_read(site, 0, machine, constants);
    }
    return writes;
}

static void find(struct hx_world *world, const struct hx_place *place, struct hx_constants *constants)
{
    char machine[HX_CONSTANTS_MACHINE_BYTES], path[PATH_MAX], text[HX_CONSTANTS_FILE_BYTES];
    const int shares_core = hx_world_ranks_per_cpu(world, place) > 1;
    struct hx_constants measured = {.source = HX_CONSTANTS_MEASURED};
    struct hx_probe probe;

    hx_probe_begin(&probe, world->process.shared, shares_core, world->process.env->far_ns, &measured);
    machine_write(world, place, measured.line_ns, machine);
    int writes = files_look(world, machine, path, constants);
    if (constants->source == HX_CONSTANTS_BUILT_IN && hx_probe_copies(&probe, &measured) == 0) {
        *constants = measured;
        hx_constants_format(constants, machine, text);
        if (writes && hx_constants_write(path, text) < 0)
            hx_log(world->process.env->constants ? HX_LOG_WARN : HX_LOG_INFO, "HX_CONSTANTS: cannot write %s: %s", path, strerror(errno));
    }
    hx_probe_end(&probe);
    if (constants->source == HX_CONSTANTS_BUILT_IN)
        hx_info("the constants of the node are built in: after %.2f ms the two ranks that measure them had not finished",
                1e-6 * (double)(hx_now_ns() - probe.begin));
    else
        hx_debug("the constants of the node took %.2f ms", 1e-6 * (double)(hx_now_ns() - probe.begin));
}

void hx_constants_settle(struct hx_world *world, const struct hx_place *place, int fit)
{
    struct hx_shared *shared = world->process.shared;
    const struct hx_env *env = world->process.env;
    const int reads = !atomic_load_explicit(&shared->header->no_fetch, memory_order_relaxed); /* the first rank decides for both */

    if (shared->ranks[0] != 0 || shared->n == 1 || (shared->me > 0 && shared->me != hx_probe_partner(shared)))
        return;
    if (!fit || !env->single_copy || (env->constants && !strcmp(env->constants, "none")))
        hx_probe_leave(shared);
    else if (shared->me > 0)
        hx_probe_answer(shared, env->far_ns);
    else if (!reads)
        hx_probe_leave(shared);
    else
        find(world, place, &world->process.job.constants);
}
