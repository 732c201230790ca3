/* SPDX-License-Identifier: BSD-3-Clause */
/* The explain text of every algorithm, member 1 of 4, against tests/golden/<collective>_<algorithm>.txt; with a radix above 4 it is the same
 * as with 4. After a change
 * that is meant, run this program with the argument --update and read the difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/runtime/plan/plans.h"
#include "runtime/plan/print.h"

static int update;

static FILE *golden_open(const struct hx_algorithm *a, const char *mode)
{
    const char *top = getenv("top_srcdir");
    char path[512];

    snprintf(path, sizeof path, "%s/tests/golden/%s_%s.txt", top ? top : ".", hx_coll_name(a->coll), a->name);
    FILE *file = fopen(path, mode);
    if (!file)
        fail_msg("%s cannot be opened", path);
    return file;
}

static size_t explain(const struct hx_algorithm *a, char *text, size_t capacity)
{
    struct hx_plan *plan = plan_of(a, 4, 0, 1);
    FILE *file = tmpfile();
    size_t n;

    assert_non_null(plan);
    assert_non_null(file);
    hx_explain_plan(plan, file);
    rewind(file);
    n = fread(text, 1, capacity, file);
    assert_true(n > 0 && n < capacity);
    fclose(file);
    hx_plan_release(plan);
    return n;
}

static void test_golden(void **state)
{
    const struct hx_algorithm *a;
    char got[8192], want[8192];

    (void)state;
    for (int i = 0; (a = hx_algorithms[i]); i++) {
        if (a->radix > 4)
            continue;
        size_t n = explain(a, got, sizeof got - 1);
        FILE *file = golden_open(a, update ? "w" : "r");
        got[n] = 0;
        if (update) {
            assert_int_equal(fwrite(got, 1, n, file), n);
        } else {
            want[fread(want, 1, sizeof want - 1, file)] = 0;
            assert_string_equal(got, want);
        }
        fclose(file);
    }
}

/* As with snprintf: the text is cut at the capacity, the length that it would have comes back. */
static void test_cut(void **state)
{
    const struct hx_algorithm *a = algorithm_named("ring", HX_COLL_ALLREDUCE);
    struct hx_plan *plan = plan_of_row(a, HX_SCOPE_INTER, 4, 0, 1);
    char whole[128], part[8];

    (void)state;
    for (uint32_t i = 0; i < plan->stages[0].nsteps; i++) {
        int n = hx_explain_step(&plan->stages[0], &plan->stages[0].steps[i], whole, sizeof whole);
        assert_int_equal(n, strlen(whole));
        assert_int_equal(hx_explain_step(&plan->stages[0], &plan->stages[0].steps[i], part, sizeof part), n);
        assert_memory_equal(part, whole, sizeof part - 1);
        assert_int_equal(part[sizeof part - 1], 0);
    }
    hx_plan_release(plan);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_cut)};

    update = argc == 2 && !strcmp(argv[1], "--update");
    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
