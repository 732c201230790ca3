/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a round: see faults.h. It skips calls on a communicator that has failed, and records the result of each call. */
#include "faults.h"
#include "runtime/base/clock.h"
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

extern char **environ;

struct pending { /* of a step */
    hx_request_t *request;
    double from;
    void *in, *out;
    struct step call;
    int wait_at, is_agreed;
};

static const struct round *round_;
static struct record *records, *mine;
static const struct victim *victim; /* NULL: this rank is no victim */
static int rank;
static hx_comm_t *comms[COMMS];
static int failed[COMMS];
static struct pending pending[STEPS];
static hx_op_t own_op;
static volatile sig_atomic_t aborts;

/* ---- the fault ----------------------------------------------------------------------------------------------- */

static void strike(int signal)
{
    (void)signal;
    mine->struck_at = hx_now_s();
    mine->struck = 1;
    kill(getpid(), round_->kind->how == STOPS_BRIEFLY || round_->kind->how == STOPS_LONG || round_->kind->how == STOPS_AND_DIES
                       ? SIGSTOP : SIGKILL);
}

static void own_sum(const void *left, const void *right, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    (void)ctx;
    if (aborts) {
        mine->struck_at = hx_now_s();
        mine->struck = 1;
        abort();
    }
    for (size_t i = 0; i < count; i++)
        if (dtype == HX_INT64)
            ((int64_t *)result)[i] = ((const int64_t *)left)[i] + ((const int64_t *)right)[i];
        else
            ((int32_t *)result)[i] = ((const int32_t *)left)[i] + ((const int32_t *)right)[i];
}

/* The child outlives this rank: the driver ends it. */
static void child_start(void)
{
    char *const words[] = {(char *)"sleep", (char *)"1000", NULL};
    pid_t pid = -1;

    if (round_->kind->child == SPAWNED && posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0)
        exit(3);
    if (round_->kind->child != SPAWNED && (pid = fork()) == 0) {
        if (round_->kind->child == EXECUTED)
            execvp(words[0], words);
        for (;;)
            pause();
    }
    mine->child = pid;
}

static void child_maybe(int when)
{
    if (victim && round_->kind->child != NO_CHILD && victim->when_child == when)
        child_start();
}

/* Carry out the fault, if this rank is its victim and this is its place. */
static void fault_arm(enum where where, int step)
{
    struct itimerval timer = {.it_value = {0, 0}};

    if (!victim || round_->kind->where != where || (where != IN_INIT && where != IN_FINALIZE && victim->step != step))
        return;
    child_maybe(2);
    if (round_->kind->how == CALLS_WRONG)
        return;
    if (round_->kind->how == ABORTS) {
        aborts = 1;
        return;
    }
    if (victim->exits) {
        mine->struck_at = hx_now_s();
        mine->struck = 1;
        exit(0);
    }
    timer.it_value.tv_usec = (suseconds_t)victim->delay_us;
    signal(SIGALRM, strike);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- what calls give ----------------------------------------------------------------------------------------- */

static void event_add(int step, int comm, double from, hx_status_t status, int is_wrong)
{
    struct event *event = &mine->events[mine->nevents];

    if (mine->nevents == EVENTS)
        exit(4);
    *event = (struct event){.step = step, .comm = comm, .status = (int)status, .is_wrong = is_wrong, .from = from,
                            .to = hx_now_s()};
    if (status != HX_SUCCESS)
        snprintf(event->detail, sizeof(event->detail), "%s",
                 hx_error_detail(step == INIT || step == FINALIZE ? NULL : step < CREATIONS + 100 && step >= 100 ? comms[round_->comms[comm].parent] : comms[comm]));
    mine->nevents++;
}

static double doing(int step)
{
    mine->doing_since = hx_now_s();
    mine->doing = step;
    return mine->doing_since;
}

static int64_t value(int from, int step, size_t i)
{
    return (int64_t)((size_t)(from + 1) * (i % 977 + 3) + (size_t)step * 31 + i % 13);
}

static int64_t folded(const struct group *g, int n, const struct step *s, int step, size_t i)
{
    int64_t all = value(g->ranks[0], step, i);

    for (int r = 1; r < n; r++) {
        int64_t one = value(g->ranks[r], step, i);
        switch (s->op) {
        case 1: all = one > all ? one : all; break;
        case 2: all = one < all ? one : all; break;
        case 3: all ^= one; break;
        default: all += one; break;
        }
    }
    return s->dtype == HX_INT32 ? (int32_t)all : all;
}

static int64_t wanted(const struct group *g, int me, const struct step *s, int step, size_t i)
{
    size_t n = s->count;

    switch (s->what) {
    case ALLGATHER:
    case GATHER: return value(g->ranks[i / n], step, i % n);
    case ALLTOALL: return value(g->ranks[i / n], step, (size_t)me * n + i % n);
    case BCAST: return value(g->ranks[s->root], step, i);
    case SCATTER: return value(g->ranks[s->root], step, (size_t)me * n + i);
    case REDUCE_SCATTER: return folded(g, g->n, s, step, (size_t)me * n + i);
    case SCAN: return folded(g, me + 1, s, step, i);
    case EXSCAN: return folded(g, me, s, step, i);
    default: return folded(g, g->n, s, step, i);
    }
}

/* Elements that a rank gets. */
static size_t gets(const struct group *g, int me, const struct step *s)
{
    switch (s->what) {
    case BARRIER: return 0;
    case REDUCE: return me == s->root ? s->count : 0;
    case GATHER: return me == s->root ? s->count * (size_t)g->n : 0;
    case ALLGATHER:
    case ALLTOALL: return s->count * (size_t)g->n;
    case EXSCAN: return me ? s->count : 0;
    default: return s->count;
    }
}

static int64_t number_at(const void *memory, hx_dtype_t dtype, size_t i)
{
    return dtype == HX_INT64 ? ((const int64_t *)memory)[i] : ((const int32_t *)memory)[i];
}

static void numbers_put(void *memory, hx_dtype_t dtype, size_t n, int step)
{
    for (size_t i = 0; i < n; i++)
        if (dtype == HX_INT64)
            ((int64_t *)memory)[i] = value(rank, step, i);
        else
            ((int32_t *)memory)[i] = (int32_t)value(rank, step, i);
}

/* Is the result of a call that succeeded right? A call that the others have not made may succeed only if this rank receives nothing. */
static int is_wrong(const struct pending *p, int step)
{
    const struct group *g = faults_group(round_, p->call.comm, rank);
    int me = faults_place(g, rank);
    size_t n = gets(g, me, &p->call);

    if (!p->is_agreed)
        return n > 0 && g->n > 1 && !(p->call.what == BCAST && me == p->call.root) && !(p->call.what == SCATTER && me == p->call.root) &&
               !(p->call.what == SCAN && me == 0);
    for (size_t i = 0; i < n; i++)
        if (number_at(p->out, p->call.dtype, i) != wanted(g, me, &p->call, step, i))
            return 1;
    return 0;
}

/* ---- calls --------------------------------------------------------------------------------------------------- */

static hx_status_t call(const struct step *s, void *in, void *out, hx_request_t **request)
{
    hx_comm_t *c = comms[s->comm];
    hx_dtype_t t = s->dtype;
    hx_op_t op = faults_op(s->op, own_op);
    size_t n = s->count;

#define CALL(name, ...) (request ? hx_i##name(__VA_ARGS__, request) : hx_##name(__VA_ARGS__))
    switch (s->what) {
    case BARRIER: return CALL(barrier, c);
    case ALLREDUCE: return CALL(allreduce, in, out, n, t, op, c);
    case REDUCE_SCATTER: return CALL(reduce_scatter_block, in, out, n, t, op, c);
    case ALLGATHER: return CALL(allgather, in, out, n, t, c);
    case BCAST: return CALL(bcast, out, n, t, s->root, c);
    case REDUCE: return CALL(reduce, in, out, n, t, op, s->root, c);
    case GATHER: return CALL(gather, in, out, n, t, s->root, c);
    case SCATTER: return CALL(scatter, in, out, n, t, s->root, c);
    case SCAN: return CALL(scan, in, out, n, t, op, c);
    case EXSCAN: return CALL(exscan, in, out, n, t, op, c);
    default: return CALL(alltoall, in, out, n, t, c);
    }
#undef CALL
}

static void call_end(int step, struct pending *p, hx_status_t status)
{
    event_add(step, p->call.comm, p->from, status, status == HX_SUCCESS && is_wrong(p, step));
    failed[p->call.comm] |= status != HX_SUCCESS;
    free(p->in);
    free(p->out);
    *p = (struct pending){.request = NULL};
}

static void pending_wait(int step)
{
    struct pending *p = &pending[step];
    hx_status_t status = HX_SUCCESS;
    double from = doing(step);
    int done = 0;

    if (round_->steps[step].by_test)
        while (status == HX_SUCCESS && !done) {
            status = hx_test(p->request, &done);
            if (!done)
                usleep(200);
        }
    else
        status = hx_wait(p->request);
    p->from = from;
    call_end(step, p, status);
}

static void pending_wait_all(int comm)
{
    for (int i = 0; i < STEPS; i++)
        if (pending[i].request && (comm < 0 || pending[i].call.comm == comm))
            pending_wait(i);
}

/* The step as this rank makes it. Returns 0 where it makes none. */
static int step_own(int i, struct step *s, int *is_agreed)
{
    enum wrong wrong = victim && round_->kind->how == CALLS_WRONG && victim->step == i ? round_->kind->wrong : RIGHT;

    *is_agreed = wrong == RIGHT || wrong == MIXED;
    switch (wrong) {
    case RIGHT: break;
    case OTHER_COLLECTIVE: s->what = round_->wrong_what; break;
    case OTHER_COUNT: s->count = s->count > 1 && i % 2 ? s->count - 1 : s->count + 1; break;
    case OTHER_ROOT: s->root = round_->wrong_root; break;
    case OTHER_OP: s->op = (s->op + 1) % OPS; break;
    case OTHER_TYPE: s->dtype = s->dtype == HX_INT64 ? HX_INT32 : HX_INT64; break;
    case SKIPPED: return 0;
    case MIXED: s->wait_at = s->wait_at < 0 ? STEPS : -1; break;
    case FREES:
        pending_wait_all(s->comm);
        if (s->comm == 0 || failed[s->comm])
            return 0;
        doing(i);
        failed[s->comm] = 1;
        hx_comm_free(comms[s->comm]);
        return 0;
    }
    return 1;
}

static void step_play(int i, struct step s)
{
    struct pending now = {.from = doing(i)}, *p = i < STEPS ? &pending[i] : &now;
    const struct group *g = faults_group(round_, s.comm, rank);
    size_t elements = s.count + 1;
    hx_status_t status;
    int is_agreed = 1;

    if (!g || failed[s.comm] || !comms[s.comm] || (i < STEPS && !step_own(i, &s, &is_agreed)))
        return;
    elements *= 8 * (size_t)RANKS;
    *p = (struct pending){.from = doing(i), .in = malloc(elements), .out = calloc(1, elements), .call = s, .wait_at = s.wait_at, .is_agreed = is_agreed};
    if (!p->in || !p->out)
        exit(3);
    numbers_put(p->in, s.dtype, elements / 8, i);
    if (s.what == BCAST && faults_place(g, rank) == s.root)
        numbers_put(p->out, s.dtype, s.count, i);
    status = call(&s, p->in, p->out, s.wait_at < 0 ? NULL : &p->request);
    if (s.wait_at < 0 || status != HX_SUCCESS)
        call_end(i, p, status);
}

/* ---- communicators ------------------------------------------------------------------------------------------- */

/* While a rank waits outside Hierax, it must still let calls make progress. */
static void others_await(int comm, hx_request_t *idle)
{
    const struct group *g = faults_group(round_, comm, rank);
    int done;

    for (int i = 0; i < g->n; i++)
        for (struct record *other = &records[g->ranks[i]]; !other->created[comm] && !other->struck; usleep(500))
            if (hx_test(idle, &done) != HX_SUCCESS)
                break; /* a call with it has failed */
    for (int i = 0; i < g->n; i++)
        if (records[g->ranks[i]].created[comm] == 2)
            failed[comm] = 1; /* some ranks have the communicator and some do not */
}

static void comm_create(int comm, hx_request_t *idle)
{
    const struct comm *c = &round_->comms[comm];
    const struct group *g = faults_group(round_, comm, rank);
    hx_comm_t *parent = comms[c->parent];
    hx_status_t status;
    double from;

    if (!parent || failed[c->parent] || (comm == 3 && !g)) {
        mine->created[comm] = 2;
        failed[comm] = 1;
        if (!g || comm == 3)
            return;
    } else {
        from = doing(100 + comm);
        fault_arm(IN_CREATION, comm);
        status = comm == 1   ? hx_comm_split(parent, c->color[rank] < 0 ? HX_UNDEFINED : c->color[rank], c->key[rank], &comms[1])
                 : comm == 3 ? hx_comm_group(parent, g->ranks, g->n, &comms[3])
                             : hx_comm_dup(parent, &comms[comm]);
        event_add(100 + comm, comm, from, status, 0);
        mine->created[comm] = status == HX_SUCCESS ? 1 : 2;
        failed[comm] |= status != HX_SUCCESS;
        failed[c->parent] |= status != HX_SUCCESS && comm != 3;
    }
    if (g && round_->kind->where == IN_CREATION)
        others_await(comm, idle);
}

/* ---- the whole ----------------------------------------------------------------------------------------------- */

static void setting(const char *name, const char *format, long value)
{
    char text[32];

    snprintf(text, sizeof(text), format, value);
    setenv(name, text, 1);
}

static void rank_start(const struct round *round, int me, struct record *all)
{
    const struct rlimit no_core = {0, 0};

    round_ = round;
    records = all;
    rank = me;
    mine = &all[me];
    for (int i = 0; i < round->nvictims; i++)
        if (round->victims[i].rank == rank)
            victim = &round->victims[i];
    setrlimit(RLIMIT_CORE, &no_core);
    setting("HX_RANK", "%ld", rank);
    setting("HX_SIZE", "%ld", round->size);
    setting("HX_TIMEOUT", "%ld", (long)LIMIT_S);
    if (hx_op_create(own_sum, 1, NULL, &own_op) != HX_SUCCESS)
        exit(5);
    child_maybe(0);
}

static void calls_play(void)
{
    hx_request_t *idle;

    if (hx_barrier_init(comms[0], &idle) != HX_SUCCESS)
        exit(5);
    for (int comm = 1; comm < COMMS; comm++)
        comm_create(comm, idle);
    for (int i = 0; i < STEPS; i++) {
        for (int j = 0; j < i; j++)
            if (pending[j].request && pending[j].wait_at == i)
                pending_wait(j);
        fault_arm(IN_STEP, i);
        step_play(i, round_->steps[i]);
    }
    pending_wait_all(-1);
    for (int comm = 0; comm < COMMS; comm++)
        step_play(FINAL + comm, (struct step){.comm = comm, .what = ALLREDUCE, .count = 3, .dtype = HX_INT64, .wait_at = -1});
    hx_request_free(idle);
}

void faults_play(const struct round *round, int me, struct record *all)
{
    hx_status_t status;
    double from;

    rank_start(round, me, all);
    from = doing(INIT);
    fault_arm(IN_INIT, 0);
    status = hx_init(&comms[0]);
    event_add(INIT, -1, from, status, 0);
    if (status == HX_SUCCESS) {
        child_maybe(1);
        calls_play();
        from = doing(FINALIZE);
        fault_arm(IN_FINALIZE, 0);
        status = hx_finalize();
        event_add(FINALIZE, -1, from, status, 0);
    }
    for (int comm = 1; comm < COMMS; comm++)
        if (!mine->created[comm])
            mine->created[comm] = 2;
    mine->done = 1;
    while (!mine->released) /* its end would be another death */
        usleep(1000);
    exit(0);
}
