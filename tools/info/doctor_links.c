/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links between the hosts: the job's ranks start Hierax and measure them, all pairs of a round at once, each way, as many
 * rounds as BUDGET_S allows. Rounds in which a link looks slow are measured again, since another process may have run meanwhile.
 */
#include "tools/info/doctor_links.h"
#include "runtime/base/clock.h"
#include "runtime/start/links.h"
#include <stdlib.h>

#define BUDGET_S 10.0 /* for all rounds; then again to repeat some */
#define ROUNDS_MIN 3  /* whatever the budget: one link of a host does not show whether the host is slow */
#define REPEATS 6

struct prober { /* on rank 0 */
    struct doctor_links links;
    int rounds;   /* to measure */
    int measured; /* the first rounds */
    int pass, at; /* which repetition, and how many rounds it has looked at */
    double deadline;
};

/* The rounds in turn, and then those again in which a link looks slow. */
static int round_next(void *arg, const struct hx_link *matrix)
{
    struct prober *p = arg;

    p->links.matrix = matrix;
    if (p->measured < p->rounds && (p->measured < ROUNDS_MIN || hx_now_s() < p->deadline))
        return p->measured++;
    if (p->pass == 0) {
        p->rounds = p->measured;
        p->deadline = hx_now_s() + BUDGET_S;
        p->pass = 1;
    }
    for (; p->pass <= REPEATS; p->pass++, p->at = 0)
        while (p->at < p->rounds && hx_now_s() < p->deadline)
            if (doctor_round_is_slow(&p->links, p->at++))
                return p->at - 1;
    return -1;
}

/* By all ranks. */
static hx_status_t world_measure(struct doctor_job *job)
{
    static const char *const settings[] = {"HX_NODES=0", "HX_RING_ORDER=rank", "HX_LOG=error", "HX_TIMEOUT=30", NULL};
    const hx_config_t config = {.settings = settings};
    struct prober p = {.pass = 0};
    struct hx_links how = {HX_LINK_EACH_WAY, round_next, &p, NULL};
    hx_comm_t *world;
    hx_status_t status;

    doctor_settings_forget();
    hx_boot_lend(job->boot);
    job->boot = NULL;
    if ((status = hx_init_with(&config, &world)) != HX_SUCCESS)
        return status;
    if (job->rank == 0) {
        const int n = world->members.shape->nnodes;
        p.rounds = hx_pair_rounds(n);
        p.deadline = hx_now_s() + BUDGET_S;
        p.links = (struct doctor_links){.n = n, .shape = world->members.shape};
        p.links.costs = calloc(3 * (size_t)n, sizeof(*p.links.costs));
        how.matrix = p.links.costs ? calloc((size_t)n * (size_t)n, sizeof(*how.matrix)) : NULL;
    }
    if ((status = hx_links_measure(world, &how)) == HX_SUCCESS && job->rank == 0)
        doctor_links_judge(job, &p.links);
    free(p.links.costs);
    free(how.matrix);
    return status == HX_SUCCESS ? hx_finalize() : status;
}

void doctor_links(struct doctor_job *job)
{
    int go;

    if ((job->rank == 0 && !doctor_is_reached(job, "measured")) || job->hosts < 2 || !job->boot)
        return;
    if ((go = doctor_agree(job, doctor_fails(job) == 0)) == 1 && world_measure(job) != HX_SUCCESS && job->rank == 0)
        doctor_tell(job, DOCTOR_FAIL, NULL, 0, "not measured: %s", hx_last_detail());
    else if (go != 1 && job->rank == 0)
        doctor_tell(job, DOCTOR_WARN, NULL, 0, "not measured: %s", go ? hx_last_detail() : "a check has failed");
}
