/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a node on which no living rank has a network address: when they count as dead. A death is counted once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/engine/liveness.h"
#include "runtime/engine/stall.h"
#include "runtime/engine/whereabouts.h"
#include "runtime/base/clock.h"
#include <time.h>

enum { RANKS = 4, LOOK_NS = 20000000 };
#define SILENT_S 0.5
#define LONG_NS UINT64_C(60000000000) /* the call waits since so long */

static int is_gone[RANKS];

static int net_ask(struct hx_net *net, int peer, const struct hx_control_message *message)
{
    (void)net;
    (void)message;
    return is_gone[peer];
}

static int net_has_ended(const struct hx_net *net, int peer)
{
    (void)net;
    return is_gone[peer];
}

static const struct hx_net_ops net = {.name = "test", .ask = net_ask, .has_ended = net_has_ended};
const struct hx_registry hx_registry = {.net = &net};

struct fixture { /* rank 0 | ranks 1, 2 and 3: rank 1 has an address */
    struct hx_node_header header;
    struct hx_job_entry table[RANKS];
    struct hx_doorbell doorbell;
    struct hx_shared shared;
    struct hx_env env;
    struct hx_process process;
    int me;
};

static int setup(void **state)
{
    static struct fixture f;

    f = (struct fixture){.env = {.silent = SILENT_S}};
    f.shared = (struct hx_shared){.n = 1, .ranks = &f.me, .header = &f.header, .table = f.table, .doorbells = &f.doorbell, .memory = -1};
    f.process = (struct hx_process){.size = RANKS, .shared = &f.shared, .env = &f.env};
    for (int rank = 0; rank < RANKS; rank++) {
        f.table[rank].node = rank > 0;
        f.table[rank].address_state = rank < 2 ? HX_ADDRESS_THERE : HX_ADDRESS_NONE;
        is_gone[rank] = 0;
    }
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    hx_whereabouts_forget(&((struct fixture *)*state)->process);
    return 0;
}

/* Look for so many seconds, as a rank that waits for this rank. Returns whether the rank counts as dead. */
static int looks(struct fixture *f, int rank, double seconds)
{
    const struct hx_control_message question = {.kind = HX_MESSAGE_ASKS, .rank = rank, .context = -1};

    for (double end = hx_now_s() + seconds; hx_now_s() < end;) {
        hx_late_ask(&f->process, rank, &question, LONG_NS);
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return atomic_load(&f->table[rank].dead) != 0;
}

static void a_node_that_loses_its_addresses_gets_time(void **state)
{
    struct fixture *f = *state;

    assert_false(looks(f, 2, 0.1));
    is_gone[1] = 1; /* the only rank there with an address */
    assert_false(looks(f, 2, SILENT_S / 2));
    assert_true(atomic_load(&f->table[1].dead));
    assert_true(looks(f, 2, SILENT_S));
    assert_false(atomic_load(&f->table[2].ended));
    assert_false(atomic_load(&f->table[3].dead));
}

static void the_time_begins_anew_after_a_substitute(void **state)
{
    struct fixture *f = *state;

    is_gone[1] = 1;
    assert_false(looks(f, 2, SILENT_S * 0.7));
    atomic_store(&f->table[3].address_state, HX_ADDRESS_THERE);
    assert_false(looks(f, 2, SILENT_S * 0.6));
    is_gone[3] = 1;
    assert_false(looks(f, 2, SILENT_S * 0.5));
    assert_true(looks(f, 2, SILENT_S));
}

static void two_ranks_of_a_node_share_the_time(void **state)
{
    struct fixture *f = *state;

    is_gone[1] = 1;
    assert_false(looks(f, 2, SILENT_S * 0.6));
    assert_true(looks(f, 3, SILENT_S * 0.6));
    assert_false(atomic_load(&f->table[2].dead));
}

static void a_death_is_counted_once(void **state)
{
    struct fixture *f = *state;

    is_gone[1] = 1;
    looks(f, 2, 2 * SILENT_S);
    assert_int_equal(atomic_load(&f->header.deaths), 2); /* of ranks 1 and 2 */
    assert_int_equal(atomic_load(&f->table[1].dead), 1);
    assert_int_equal(atomic_load(&f->table[2].dead), 2);
    hx_watch_tell(&f->shared, 2, 1);
    assert_int_equal(atomic_load(&f->table[2].ended), 1);
    assert_int_equal(atomic_load(&f->header.deaths), 2);
}

/* The rank that has marked it has died before it counted the death. */
static void a_death_that_was_not_counted_is_counted(void **state)
{
    struct fixture *f = *state;

    atomic_store(&f->table[3].dead, 1);
    hx_watch_tell(&f->shared, 3, 0);
    assert_int_equal(atomic_load(&f->header.deaths), 1);
    assert_int_equal(hx_watch_dead(&f->shared, (int[]){2, 3}, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_that_loses_its_addresses_gets_time, setup, teardown),
        cmocka_unit_test_setup_teardown(the_time_begins_anew_after_a_substitute, setup, teardown),
        cmocka_unit_test_setup_teardown(two_ranks_of_a_node_share_the_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_death_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_death_that_was_not_counted_is_counted, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
