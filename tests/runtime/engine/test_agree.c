/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreements while ranks die, at every point of their steps, and while the network parts: see agree_world.h. Each run has two parts. First
 * events happen in any order. Then every rank takes steps, every message arrives and every death is found: all ranks that live must end
 * within a few rounds. world_step checks each result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/runtime/engine/agree_world.h"
#include <stdlib.h>

enum { ROUNDS_MOST = 20, POINTS = 24, SEEDS = 2 };

static uint64_t seed; /* of the next run */

/* ---- a run ---------------------------------------------------------------------------------------------------- */

/* leaves: of the ranks that have ended all of their agreements, only one stays in Hierax. If it dies, the others return, and another one stays. */
static void leave_or_stay(struct world *w)
{
    const int first = world_random(w, w->size);
    int stays = 0;

    for (int rank = 0; rank < w->size; rank++)
        stays += w->ranks[rank].life == LIFE_SERVES && w->ranks[rank].ended == w->agreements;
    for (int i = 0; i < w->size; i++) {
        struct world_rank *r = &w->ranks[(first + i) % w->size];
        if (r->life == LIFE_SERVES && r->ended == w->agreements && stays > 1) {
            r->life = LIFE_OUTSIDE;
            stays--;
        } else if (r->life == LIFE_OUTSIDE && stays == 0) {
            r->life = LIFE_SERVES;
            stays++;
        }
    }
}

static void any_event(struct world *w, int leaves)
{
    const int rank = world_random(w, w->size), other = world_random(w, w->size), what = world_random(w, 20);

    if (what < 6 && w->nmessages)
        world_deliver(w, world_random(w, w->nmessages));
    else if (what == 6 && w->ranks[rank].life == LIFE_WAITS)
        world_slow(w, rank);
    else if (what == 7 && (world_is_dead(w, other) || world_is_across(w, rank, other)) && !world_is_dead(w, rank))
        world_find(w, w->node_of[rank], other);
    else if (what == 8 && world_begins(w, rank))
        world_begin(w, rank);
    else if (what > 8 && w->ranks[rank].life == LIFE_WAITS)
        world_step(w, rank);
    if (leaves)
        leave_or_stay(w);
}

/* Returns how many ranks have yet to end. */
static int round_run(struct world *w, int leaves)
{
    int waiting = 0;

    for (int rank = 0; rank < w->size; rank++)
        for (int other = 0; other < w->size; other++)
            if (w->node_of[other] == w->node_of[rank] && world_is_dead(w, other))
                world_find(w, w->node_of[rank], other);
    for (int rank = 0; rank < w->size; rank++) {
        if (world_begins(w, rank))
            world_begin(w, rank);
        if (w->ranks[rank].life == LIFE_WAITS)
            world_step(w, rank);
        if (w->ranks[rank].life == LIFE_WAITS)
            world_slow(w, rank);
        world_deliver_all(w);
        if (leaves)
            leave_or_stay(w);
        if (w->ranks[rank].life == LIFE_SERVES && w->ranks[rank].status != HX_SUCCESS) /* its error asks the program to end this process */
            world_kill(w, rank);
    }
    for (int rank = 0; rank < w->size; rank++)
        waiting += w->ranks[rank].life == LIFE_WAITS || world_begins(w, rank);
    return waiting;
}

static int deaths_of(const struct world *w)
{
    int deaths = 0;

    for (int rank = 0; rank < w->size; rank++)
        deaths += world_is_dead(w, rank);
    return deaths;
}

static void run_all(struct world *w, int leaves)
{
    const int events = world_random(w, 4) ? world_random(w, 200) : 0;
    int deaths = -1, rounds = 0;

    for (int i = 0; i < events; i++)
        any_event(w, leaves);
    w->is_cut = w->cut != 0;
    while (round_run(w, leaves)) {
        rounds = deaths_of(w) == deaths ? rounds + 1 : 0;
        deaths = deaths_of(w);
        if (rounds > ROUNDS_MOST)
            fail_msg("a rank does not end: run of seed %llu", (unsigned long long)(seed - 1));
    }
    world_free(w);
}

/* ---- deaths --------------------------------------------------------------------------------------------------- */

static const struct shape {
    int size, nodes[4];
} shapes[] = {
    {3, {0, 0, 0}}, {3, {0, 1, 2}}, {3, {0, 0, 1}}, {3, {0, 1, 0}}, {4, {0, 0, 0, 0}}, {4, {0, 1, 2, 3}}, {4, {0, 0, 1, 1}}, {4, {0, 1, 0, 1}},
    {4, {0, 1, 1, 2}},
};

/* Two ranks die at their points i and j; 0: not at all. */
static void two_die(const struct shape *shape, int first, int i, int second, int j, int leaves)
{
    struct world *w = world_new(shape->size, shape->nodes, seed++);

    w->agreements = 1 + !leaves;
    w->nests = (int)(seed & 1);
    w->ranks[first].dies_in = i;
    w->ranks[second].dies_in = j;
    run_all(w, leaves);
}

static void deaths_everywhere(int leaves)
{
    for (size_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++)
        for (int first = 0; first < shapes[k].size; first++)
            for (int second = first + 1; second < shapes[k].size; second++)
                for (int i = 0; i < POINTS * POINTS * SEEDS; i++)
                    two_die(&shapes[k], first, i % POINTS, second, i / POINTS % POINTS, leaves);
}

static void test_deaths_at_every_point(void **state)
{
    (void)state;
    deaths_everywhere(0);
}

/* If one rank that has decided answers, all others end, even if all other ranks that have decided are outside Hierax. */
static void test_one_answer_is_enough(void **state)
{
    (void)state;
    deaths_everywhere(1);
}

/* ---- cuts ----------------------------------------------------------------------------------------------------- */

/* The network is cut at any time. Then ranks on both sides find each other gone. */
static void test_cuts(void **state)
{
    static const struct {
        int size, nodes[5];
        unsigned cut;
    } cuts[] = {
        {3, {0, 1, 2}, 1}, {4, {0, 1, 2, 3}, 12}, {4, {0, 1, 2, 3}, 8}, {4, {0, 0, 1, 1}, 2}, {5, {0, 1, 2, 3, 4}, 24}, {5, {0, 0, 1, 1, 2}, 1},
        {5, {0, 1, 2, 3, 4}, 7},
    };

    (void)state;
    for (size_t k = 0; k < sizeof(cuts) / sizeof(cuts[0]); k++)
        for (int i = 0; i < POINTS * POINTS * SEEDS; i++) {
            struct world *w = world_new(cuts[k].size, cuts[k].nodes, seed++);
            w->cut = cuts[k].cut;
            w->agreements = 1 + i % 2;
            w->nests = i / 2 % 2;
            w->ranks[world_random(w, w->size)].dies_in = i / POINTS % POINTS;
            w->ranks[world_random(w, w->size)].dies_in = i % POINTS;
            run_all(w, 0);
        }
}

/* Rank 0 is in the minority: ranks 2 to 4 do not reach it, but they reach rank 1, on the node of rank 0. Rank 0 lives on, and rank 1 does
 * not wait for it. Nor do others in the next agreement. */
static void test_minority_stays(void **state)
{
    static const int nodes[WORLD_MOST] = {0, 0, 1, 2, 3};
    struct world *w = world_new(5, nodes, 1);

    (void)state;
    w->cut = 1; /* it never holds, but results of both sides may differ */
    w->agreements = 2;
    for (int node = 1; node <= 3; node++)
        world_find(w, node, 0);
    for (int round = 0; round < 20; round++)
        for (int rank = 0; rank < w->size; rank++) {
            if (world_begins(w, rank))
                world_begin(w, rank);
            if (w->ranks[rank].life != LIFE_WAITS)
                continue;
            world_slow(w, rank);
            for (int i = w->nmessages - 1; i >= 0 && round < 2; i--) /* first the answers for rank 0 */
                if (w->messages[i].to == 0 || w->messages[i].from == 0)
                    world_deliver(w, i);
            if (round >= 2)
                world_deliver_all(w);
            if (rank == 0 || round >= 2)
                world_step(w, rank);
        }
    assert_int_equal(w->ranks[0].status, HX_ERR_MINORITY);
    for (int rank = 1; rank < w->size; rank++) {
        assert_int_equal(w->ranks[rank].status, HX_SUCCESS);
        assert_int_equal(w->ranks[rank].ended, 2);
        assert_int_equal(w->ranks[rank].results[1].has, 0x1e);
    }
    world_free(w);
}

/* ---- decisions and questions ---------------------------------------------------------------------------------- */

static const int apart[WORLD_MOST] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

static void all_step(struct world *w, int first)
{
    for (int rank = first; rank < w->size; rank++)
        if (w->ranks[rank].life == LIFE_WAITS)
            world_step(w, rank);
}

/* All ranks have accepted the proposal of rank 0, which decides and dies. Only some ranks (a bit mask) get its decision, and end. */
static struct world *decided_by_zero(int size, unsigned told)
{
    struct world *w = world_new(size, apart, 1);

    for (int rank = 0; rank < size; rank++)
        world_begin(w, rank);
    for (int i = 0; i < 2; i++) { /* promise and propose, accept and decide */
        all_step(w, 1);
        world_deliver_all(w);
        world_step(w, 0);
        for (int rank = 1; rank < size && i == 1; rank++)
            if (!(told >> rank & 1))
                world_drop(w, 0, rank);
        world_deliver_all(w);
    }
    assert_int_equal(w->ranks[0].life, LIFE_SERVES);
    world_kill(w, 0);
    for (int rank = 1; rank < size; rank++)
        world_find(w, rank, 0);
    for (int rank = 1; rank < size; rank++)
        if (told >> rank & 1)
            world_step(w, rank);
    return w;
}

static void must_end(struct world *w, int rank)
{
    for (int i = 0; i < 3 && w->ranks[rank].life == LIFE_WAITS; i++) {
        world_slow(w, rank);
        world_deliver_all(w);
        world_step(w, rank);
    }
    assert_int_equal(w->ranks[rank].life, LIFE_SERVES);
}

/* Rank 1 has decided, and is outside Hierax. Rank 2 waits for it. */
static void test_member_takes_any_decision(void **state)
{
    struct world *w = decided_by_zero(4, 1u << 1 | 1u << 3);

    (void)state;
    w->ranks[1].life = LIFE_OUTSIDE;
    must_end(w, 2);
    world_free(w);
}

/* Rank 1 is the coordinator now. Rank 2 has decided, and is outside Hierax. */
static void test_coordinator_takes_any_decision(void **state)
{
    struct world *w = decided_by_zero(4, 1u << 2 | 1u << 3);

    (void)state;
    w->ranks[2].life = LIFE_OUTSIDE;
    must_end(w, 1);
    world_free(w);
}

/* A rank that follows the same coordinator is not asked again. So if it takes over a decision, it tells the ranks that no longer ask it. */
static void test_who_is_not_asked_again_tells(void **state)
{
    struct world *w = decided_by_zero(5, 1u << 1 | 1u << 4);
    int asked;

    (void)state;
    w->ranks[1].life = w->ranks[4].life = LIFE_OUTSIDE;
    for (int i = 0; i < 2; i++) { /* 2 and 3 learn that each follows rank 1 */
        all_step(w, 2);
        world_slow(w, 2);
        world_slow(w, 3);
        world_deliver_all(w);
    }
    asked = w->ranks[2].asked[3];
    world_drop(w, 2, 4);
    w->ranks[4].life = LIFE_SERVES; /* it answers rank 3, and then leaves Hierax */
    world_deliver_all(w);
    w->ranks[4].life = LIFE_OUTSIDE;
    world_step(w, 3);
    assert_int_equal(w->ranks[3].life, LIFE_SERVES);
    must_end(w, 2);
    assert_int_equal(w->ranks[2].asked[3], asked);
    world_free(w);
}

/* Rank 3 tells rank 2 the decision. Rank 2 takes it over, and begins the next agreement. */
static void two_goes_on(struct world *w)
{
    hx_agree_tell(&w->ranks[3].process, &w->ranks[3].members, 2);
    assert_true(world_deliver(w, w->nmessages - 1));
    world_step(w, 2);
    assert_true(world_begins(w, 2));
    world_begin(w, 2);
}

/* Ranks 0, 2 and 3 decide without 1 and 4, which do not reach 0 and 3. Then 1 gathers from 2 and 4. Meanwhile 2 begins the next agreement. */
static void gather_while_two_goes_on(int read)
{
    static const int nodes[] = {0, 1, 1, 2, 3}, proposers[] = {2, 3, 0, 2, 3, 0};
    struct world *w = world_new(5, nodes, 1);

    w->cut = 1u << 1 | 1u << 3;
    w->agreements = 2;
    w->deaths_are_late = 1;
    world_find(w, 0, 1);
    world_find(w, 0, 4);
    for (int rank = 0; rank < w->size; rank++)
        world_begin(w, rank);
    for (size_t i = 0; i < sizeof(proposers) / sizeof(*proposers); i++) {
        world_deliver_all(w);
        world_step(w, proposers[i]);
    }
    world_drop(w, 0, 2);
    world_deliver_all(w);
    world_step(w, 3);
    assert_true(w->ranks[0].ended == 1 && w->ranks[3].ended == 1 && w->ranks[2].ended == 0);
    for (int node = 1; node <= 3; node += 2) {
        world_find(w, node, 0);
        world_find(w, node, 3);
    }
    world_step(w, 2);
    world_step(w, 4);
    world_deliver_all(w);
    w->comes = two_goes_on;
    w->comes_in = read;
    for (int i = 0; i < 5 && w->ranks[1].life == LIFE_WAITS; i++) { /* each result is checked */
        world_step(w, 1);
        world_deliver_all(w);
        if (w->ranks[4].life == LIFE_WAITS)
            world_step(w, 4);
        world_deliver_all(w);
    }
    assert_int_equal(w->ranks[1].ended, 1);
    world_free(w);
}

static void test_words_of_the_next_agreement(void **state)
{
    (void)state;
    for (int read = 1; read <= 60; read++)
        gather_while_two_goes_on(read);
}

static void some_ask(struct world *w, int first, int last, int times)
{
    for (int i = 0; i < times; i++)
        for (int rank = first; rank < last; rank++) {
            world_step(w, rank);
            world_slow(w, rank);
            world_deliver_all(w);
        }
}

/* Rank 0 is late. The ranks that wait for it soon find which other ranks have died. Then they ask only rank 0. */
static void test_each_is_asked_once(void **state)
{
    struct world *w = world_new(WORLD_MOST, apart, 1);
    const int last = WORLD_MOST - 1;

    (void)state;
    world_kill(w, last);
    for (int rank = 1; rank < last; rank++)
        world_begin(w, rank);
    some_ask(w, 1, last, 10);
    for (int rank = 2; rank < last; rank++)
        assert_in_range(w->ranks[1].asked[rank] + w->ranks[rank].asked[1], 1, 2); /* a question also carries the promise of the rank that asks */
    assert_int_equal(w->ranks[1].asked[0], 10);
    assert_true(w->nodes[1].table[last].dead);
    world_free(w);
}

/* Many ranks do not answer. The death of another rank is still found. */
static void test_all_are_asked_in_turn(void **state)
{
    struct world *w = world_new(WORLD_MOST, apart, 1);
    const int last = WORLD_MOST - 1;

    (void)state;
    world_kill(w, last);
    world_begin(w, 1);
    some_ask(w, 1, 2, 4);
    assert_true(w->nodes[1].table[last].dead);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths_at_every_point),          cmocka_unit_test(test_one_answer_is_enough),
        cmocka_unit_test(test_cuts),                           cmocka_unit_test(test_minority_stays),
        cmocka_unit_test(test_member_takes_any_decision),
        cmocka_unit_test(test_coordinator_takes_any_decision), cmocka_unit_test(test_who_is_not_asked_again_tells),
        cmocka_unit_test(test_words_of_the_next_agreement),    cmocka_unit_test(test_each_is_asked_once),
        cmocka_unit_test(test_all_are_asked_in_turn),
    };

    hx_fail_hold(); /* thousands of ranks fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
