/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of addresses: a process that is killed while it writes an address leaves nothing that stops others. Which ranks open endpoints
 * instead of dead ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/engine/liveness.h"
#include "runtime/start/startup.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HERE = 2, RANKS = 3, FAR = 2 }; /* ranks 0 and 1 are on this node, rank FAR is not */

struct node { /* what the ranks of the node share */
    struct hx_node_header header;
    struct hx_job_entry table[RANKS];
    struct hx_doorbell doorbells[HERE];
};

struct fixture {
    struct hx_shared shared;
    struct hx_world world;
    struct hx_env env;
    int ranks[HERE];
    struct hx_net_directory directory;
};

static const char address[] = "an address of rank 2";

static int setup(void **state)
{
    static struct fixture f;
    const int memory = memfd_create("directory", MFD_CLOEXEC);
    struct node *node;

    assert_true(memory >= 0 && ftruncate(memory, sizeof(*node)) == 0);
    node = mmap(NULL, sizeof(*node), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(node != MAP_FAILED);
    f = (struct fixture){.ranks = {0, 1}, .env = {.endpoints = 1}};
    f.shared = (struct hx_shared){.n = HERE, .ranks = f.ranks, .memory = memory, .header = &node->header, .table = node->table,
                                  .doorbells = node->doorbells};
    f.world.process = (struct hx_process){.size = RANKS, .shared = &f.shared, .env = &f.env};
    f.directory = hx_directory_of(&f.world);
    node->table[FAR].node = 1;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    munmap(f->shared.header, sizeof(struct node));
    return close(f->shared.memory);
}

/* Rank 1: a process that is inside enter until it is killed. ends: it is killed there at once. */
static pid_t writer_start(struct fixture *f, int ends)
{
    const size_t bytes = sizeof(address);
    int ready[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    if ((pid = fork()) == 0) {
        signal(SIGSEGV, SIG_DFL);
        f->shared.me = f->world.process.rank = 1;
        hx_watch_enter(&f->shared);
        if (!ends) {
            atomic_store(&f->shared.table[FAR].address_state, HX_ADDRESS_WRITING + 1);
            if (write(ready[1], &byte, 1) == 1)
                pause();
        }
        /* copying from this page ends the process */
        f->directory.enter(&f->world, FAR, mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes);
        _exit(0);
    }
    close(ready[1]);
    if (!ends)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static int is_known(const struct fixture *f)
{
    const char *why = NULL;
    size_t bytes = 0;
    const void *found = f->directory.find(f->directory.arg, FAR, &bytes, &why);

    assert_null(why);
    return found && bytes == sizeof(address) && !memcmp(found, address, bytes);
}

static void another_rank_writes_after_the_writer_has_died(void **state)
{
    struct fixture *f = *state;
    int status;

    hx_watch_enter(&f->shared);
    const pid_t pid = writer_start(f, 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(atomic_load(&f->shared.table[FAR].address_state) >= HX_ADDRESS_WRITING);
    assert_false(is_known(f));
    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    assert_true(is_known(f));
}

static void a_living_writer_is_left_alone(void **state)
{
    struct fixture *f = *state;
    const pid_t pid = writer_start(f, 0);

    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    assert_false(is_known(f));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    assert_true(is_known(f));
}

static void the_first_address_is_kept(void **state)
{
    struct fixture *f = *state;

    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    f->directory.enter(f->directory.arg, FAR, "other", 6);
    f->directory.refuse(f->directory.arg, FAR, HX_ERR_TRANSPORT, "no network");
    assert_true(is_known(f));
}

static void a_rank_that_left_has_finished(void **state)
{
    struct fixture *f = *state;
    const char *why = NULL;
    size_t bytes;

    f->directory.refuse(f->directory.arg, 1, HX_ERR_TRANSPORT, "no network");
    assert_int_equal(atomic_load(&f->shared.table[1].finished), 0);
    f->directory.refuse(f->directory.arg, FAR, HX_ERR_PEER_DEAD, "it " HX_HAS_FINISHED);
    assert_null(f->directory.find(f->directory.arg, FAR, &bytes, &why));
    assert_string_equal(why, "it " HX_HAS_FINISHED);
    assert_int_equal(atomic_load(&f->shared.table[FAR].finished), 1);
}

/* A rank with an endpoint has died. Rank 0 is the first that takes its place, but it does not call Hierax. */
static void a_later_rank_becomes_a_substitute(void **state)
{
    struct fixture *f = *state;

    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    atomic_store(&f->shared.header->deaths, 1);
    f->shared.me = f->world.process.rank = 1;
    assert_int_equal(f->directory.wanted(f->directory.arg), -1);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    assert_int_equal(f->directory.wanted(f->directory.arg), FAR);
    assert_int_equal(f->directory.wanted(f->directory.arg), -1);
}

static void the_first_rank_becomes_a_substitute_at_once(void **state)
{
    struct fixture *f = *state;

    f->directory.enter(f->directory.arg, FAR, address, sizeof(address));
    assert_int_equal(f->directory.wanted(f->directory.arg), -1);
    atomic_store(&f->shared.header->deaths, 1);
    assert_int_equal(f->directory.wanted(f->directory.arg), FAR);
    assert_int_equal(f->directory.wanted(f->directory.arg), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_rank_writes_after_the_writer_has_died, setup, teardown),
        cmocka_unit_test_setup_teardown(a_living_writer_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_address_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rank_that_left_has_finished, setup, teardown),
        cmocka_unit_test_setup_teardown(a_later_rank_becomes_a_substitute, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_rank_becomes_a_substitute_at_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
