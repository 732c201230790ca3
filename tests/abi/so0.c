/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of the first version with the soname libhierax.so.0. It calls every function of that version in every form and checks the
 * results. tests/abi/so0.x86-64 is this program as it was built then. It must run with every later library of the same soname:
 *   gcc -Os -s -fno-ident -fno-asynchronous-unwind-tables -Wl,-z,noseparate-code,--build-id=none,--hash-style=gnu \
 *       -o so0.x86-64 so0.c $(pkg-config --cflags --libs hierax)
 * Neither file may change until the soname does. usage: so0 init|config
 */
#include <hierax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__LP64__) && defined(__STDC_VERSION__)
_Static_assert(sizeof(hx_config_t) == 16 && sizeof(hx_bootstrap_t) == 40 && sizeof(hx_plan_info_t) == 216, "structs keep their size");
_Static_assert(sizeof(hx_float32_index_t) == 8 && sizeof(hx_float64_index_t) == 16, "structs keep their size");
_Static_assert(sizeof(hx_int32_index_t) == 8 && sizeof(hx_int64_index_t) == 16, "structs keep their size");
_Static_assert(offsetof(hx_plan_info_t, rounds) == 192 && offsetof(hx_plan_info_t, shared_bytes) == 208, "members keep their place");
_Static_assert(sizeof(hx_status_t) == 4 && sizeof(hx_dtype_t) == 4 && sizeof(hx_op_t) == 4, "constants keep their size");
#endif

static hx_comm_t *world;
static int n, me;

static void right(int is_right, int line)
{
    if (is_right)
        return;
    fprintf(stderr, "so0.c:%d: rank %d: %s\n", line, me, hx_error_detail(world));
    exit(1);
}
#define RIGHT(condition) right(condition, __LINE__)
#define MUST(call) RIGHT((call) == HX_SUCCESS)

static int out[64];

static void clear(void)
{
    memset(out, 0x5a, sizeof(out));
}

static void tested(hx_request_t *request, int line)
{
    int done = 0;

    while (!done)
        right(hx_test(request, &done) == HX_SUCCESS, line);
}

static void started(hx_request_t *request, int line)
{
    clear();
    right(hx_start(request) == HX_SUCCESS && hx_wait(request) == HX_SUCCESS, line);
}

/* The three forms of a call, and what is right afterwards. */
#define FORMS(name, condition, ...) \
    do { \
        hx_request_t *r; \
        clear(); \
        MUST(hx_##name(__VA_ARGS__)); \
        RIGHT(condition); \
        clear(); \
        MUST(hx_i##name(__VA_ARGS__, &r)); \
        tested(r, __LINE__); \
        RIGHT(condition); \
        MUST(hx_##name##_init(__VA_ARGS__, &r)); \
        started(r, __LINE__); \
        started(r, __LINE__); \
        RIGHT(condition); \
        MUST(hx_request_free(r)); \
    } while (0)

static void maximum(const void *left, const void *right_, void *result, size_t count, hx_dtype_t dtype, void *ctx)
{
    const int *l = left, *r = right_;

    (void)dtype;
    *(int *)ctx += 1;
    for (size_t i = 0; i < count; i++)
        ((int *)result)[i] = l[i] > r[i] ? l[i] : r[i];
}

static void collectives(hx_comm_t *c)
{
    static int in[64];
    const int all = 100 * (n * (n - 1) / 2), last = n - 1;
    size_t ones[64], twos[64];

    for (int i = 0; i < 64; i++) {
        in[i] = 100 * me + i;
        ones[i] = 1;
        twos[i] = 2 * (size_t)i;
    }
    FORMS(barrier, 1, c);
    FORMS(allreduce, out[1] == all + n, in, out, 2, HX_INT32, HX_SUM, c);
    FORMS(reduce_scatter_block, out[0] == all + n * me, in, out, 1, HX_INT32, HX_SUM, c);
    FORMS(reduce_scatter, out[0] == all + n * me, in, out, ones, HX_INT32, HX_SUM, c);
    FORMS(allgather, out[last] == 100 * last, in, out, 1, HX_INT32, c);
    FORMS(allgatherv, out[2 * last] == 100 * last, in, 1, out, ones, twos, HX_INT32, c);
    FORMS(alltoall, out[last] == 100 * last + me, in, out, 1, HX_INT32, c);
    FORMS(alltoallv, out[2 * last] == 100 * last + 2 * me, in, ones, twos, out, ones, twos, HX_INT32, c);
    FORMS(bcast, out[0] == 0x5a5a5a5a, out, 1, HX_INT32, last, c);
    FORMS(reduce, me != last || out[1] == all + n, in, out, 2, HX_INT32, HX_SUM, last, c);
    FORMS(gather, me || out[last] == 100 * last, in, out, 1, HX_INT32, 0, c);
    FORMS(scatter, out[0] == me, in, out, 1, HX_INT32, 0, c);
    FORMS(gatherv, me || out[2 * last] == 100 * last, in, 1, out, ones, twos, HX_INT32, 0, c);
    FORMS(scatterv, out[0] == 2 * me, in, ones, twos, out, 1, HX_INT32, 0, c);
    FORMS(scan, out[0] == 100 * (me * (me + 1) / 2), in, out, 1, HX_INT32, HX_SUM, c);
    FORMS(exscan, me == 0 || out[0] == 100 * (me * (me - 1) / 2), in, out, 1, HX_INT32, HX_SUM, c);
}

static void others(void)
{
    struct {
        hx_plan_info_t info;
        char guard[64];
    } plan;
    hx_float64_index_t pair = {1.5 - me, me}, least;
    int calls = 0, in = me, most = -1, list[2] = {0, n - 1};
    hx_request_t *requests[3] = {NULL, NULL, NULL};
    hx_comm_t *comm;
    hx_dtype_t type;
    hx_op_t op;
    void *memory;

    memset(&plan, 0x5a, sizeof(plan));
    MUST(hx_plan_info(world, "allreduce", 1, HX_FLOAT32, HX_SUM, 0, &plan.info));
    RIGHT(plan.guard[0] == 0x5a && memchr(plan.info.plan, 0, sizeof(plan.info.plan)) != NULL);
    MUST(hx_allreduce(&pair, &least, 1, HX_FLOAT64_INDEX, HX_MINLOC, world));
    RIGHT(least.value == 2.5 - n && least.index == n - 1);
    MUST(hx_dtype_contiguous(sizeof(int), &type));
    MUST(hx_op_create(maximum, 1, &calls, &op));
    MUST(hx_allreduce(&in, &most, 1, type, op, world));
    RIGHT(most == n - 1);
    MUST(hx_op_free(op));
    MUST(hx_dtype_free(type));
    MUST(hx_alloc(world, 4096, &memory));
    MUST(hx_free(world, memory));
    MUST(hx_ibarrier(world, &requests[0]));
    MUST(hx_iallreduce(HX_IN_PLACE, &in, 1, HX_INT32, HX_MAX, world, &requests[2]));
    MUST(hx_waitall(3, requests));
    RIGHT(in == n - 1 && !requests[0] && !requests[2]);
    MUST(hx_comm_split(world, me == 0 ? HX_UNDEFINED : 0, -me, &comm));
    RIGHT(me == 0 ? comm == NULL : hx_size(comm) == n - 1 && hx_rank(comm) == n - 1 - me);
    MUST(comm ? hx_comm_free(comm) : HX_SUCCESS);
    if (n > 1 && (me == 0 || me == n - 1)) {
        MUST(hx_comm_group(world, list, 2, &comm));
        RIGHT(hx_size(comm) == 2);
        MUST(hx_comm_free(comm));
    }
    MUST(hx_comm_dup(world, &comm));
    collectives(comm);
    MUST(hx_comm_free(comm));
    RIGHT(hx_barrier(NULL) == HX_ERR_ARG && strstr(hx_error_detail(NULL), "hx_barrier") != NULL);
    RIGHT(strncmp(hx_strerror(HX_ERR_PEER_DEAD), "HX_ERR_PEER_DEAD", 16) == 0);
}

int main(int argc, char **argv)
{
    const char *const settings[] = {"HX_TIMEOUT=60", NULL};
    const hx_config_t config = {NULL, settings};

    if (argc > 1 && strcmp(argv[1], "config") == 0)
        MUST(hx_init_with(&config, &world));
    else
        MUST(hx_init(&world));
    n = hx_size(world);
    me = hx_rank(world);
    collectives(world);
    others();
    printf("rank %d of %d is right with version %s\n", me, n, hx_version());
    MUST(hx_finalize());
    return 0;
}
