/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning table: what is written is read again; entries give way to newer ones; files that are no tables are refused with line and
 * reason, however they are broken. */
#include "hier/planner.h"
#include "hier/table/table.h"
#include "runtime/base/reduce.h"
#include "hier/table/json_place.h"
#include "runtime/base/error.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char path[] = "test_table.json";

static struct hx_table_entry entry_of(const char *shape_text, enum hx_coll coll, uint64_t from, uint64_t to, const char *plan)
{
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape = hx_shape_parse(shape_text, error);
    struct hx_table_entry entry;

    assert_non_null(shape);
    hx_table_key(&entry, coll, hx_traits_of(HX_FLOAT32), shape, "net");
    hx_shape_free(shape);
    entry.from_bytes = from;
    entry.to_bytes = to;
    snprintf(entry.plan, sizeof(entry.plan), "%s", plan);
    snprintf(entry.default_plan, sizeof(entry.default_plan), "flat(\"ring\")");
    entry.us = 1.5;
    entry.default_us = 2.25;
    return entry;
}

static const char *plan_at(const struct hx_table *table, const struct hx_table_entry *key, uint64_t bytes)
{
    const struct hx_table_entry *found = hx_table_find(table->entries, table->n, key, bytes);

    return found ? found->plan : "none";
}

static void add(struct hx_table *table, struct hx_table_entry entry)
{
    assert_int_equal(hx_table_add(table, &entry), HX_SUCCESS);
}

static void newer_entries_cut_older(void **state)
{
    struct hx_table *table = hx_table_new();
    struct hx_table_entry key = entry_of("2x2", HX_COLL_ALLREDUCE, 0, 0, "");

    (void)state;
    assert_non_null(table);
    add(table, entry_of("2x2", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "all"));
    add(table, entry_of("2x2", HX_COLL_ALLREDUCE, 100, 199, "middle"));
    add(table, entry_of("2x2", HX_COLL_BCAST, 0, UINT64_MAX, "other collective"));
    add(table, entry_of("2x2:cyclic", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "other placement"));
    add(table, entry_of("3x2", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "other shape"));
    assert_int_equal(table->n, 6);
    assert_string_equal(plan_at(table, &key, 99), "all");
    assert_string_equal(plan_at(table, &key, 100), "middle");
    assert_string_equal(plan_at(table, &key, 199), "middle");
    assert_string_equal(plan_at(table, &key, 200), "all");
    assert_string_equal(plan_at(table, &key, UINT64_MAX), "all");
    add(table, entry_of("2x2", HX_COLL_ALLREDUCE, 50, UINT64_MAX, "most"));
    assert_string_equal(plan_at(table, &key, 49), "all");
    assert_string_equal(plan_at(table, &key, 100), "most");
    assert_int_equal(table->n, 5);
    key.ordered = 1;
    assert_string_equal(plan_at(table, &key, 100), "none");
    hx_table_free(table);
}

static void write_file(const struct hx_table *table)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    hx_table_print(out, table);
    assert_int_equal(fclose(out), 0);
}

static void a_file_is_read_as_written(void **state)
{
    struct hx_table *table = hx_table_new(), *again;
    char why[256];

    (void)state;
    add(table, entry_of("4,4,3", HX_COLL_ALLREDUCE, 0, 4095, "hier(nary,ring,nary) x2"));
    add(table, entry_of("4,4,3", HX_COLL_ALLREDUCE, 4096, UINT64_MAX, "a \"quoted\" \\ name"));
    add(table, entry_of("1x8", HX_COLL_BARRIER, 0, 0, "flat(nary)"));
    table->entries[2].slice_bytes = 65536;
    add(table, entry_of("4,4,3", HX_COLL_BCAST, 0, 9, "in memory of hx_alloc"));
    table->entries[3].shared_alloc = 1;
    table->entries[3].mixed = 1;
    for (int numbers = HX_NUMBERS_HALF; numbers < HX_NUMBERS_COUNT; numbers++) {
        add(table, entry_of("4,4,3", HX_COLL_SCAN, 0, 9, hx_numbers_names[numbers]));
        table->entries[table->n - 1].numbers = (enum hx_numbers)numbers;
    }
    assert_null(hx_table_sort(table));
    write_file(table);
    assert_int_equal(hx_table_read(path, &again), HX_SUCCESS);
    assert_null(hx_table_foreign(again, why));
    assert_int_equal(again->n, 7);
    for (int i = 0; i < again->n; i++) {
        assert_true(hx_table_same_key(&again->entries[i], &table->entries[i]));
        assert_true(again->entries[i].from_bytes == table->entries[i].from_bytes && again->entries[i].to_bytes == table->entries[i].to_bytes);
        assert_string_equal(again->entries[i].plan, table->entries[i].plan);
        assert_string_equal(again->entries[i].default_plan, table->entries[i].default_plan);
        assert_true(again->entries[i].us == 1.5 && again->entries[i].default_us == 2.25);
        assert_true(again->entries[i].slice_bytes == table->entries[i].slice_bytes);
        assert_int_equal(again->entries[i].mixed, table->entries[i].mixed);
    }
    strcpy(again->machine.hierax, "0.0.9"); /* tables of earlier versions hold */
    assert_null(hx_table_foreign(again, why));
    again->machine.cpus++;
    assert_non_null(strstr(hx_table_foreign(again, why), "processing units"));
    hx_table_free(table);
    hx_table_free(again);
    assert_int_equal(hx_table_read("no_such_folder/table.json", &again), HX_ERR_ENV);
    assert_null(again);
    unlink(path);
}

/* Older tables name no radix: it was the usual one. */
static void older_names_get_their_radix(void **state)
{
    static const char *const plans[][2] = {{"hier(-,knomial,nary) x2", "hier(-,knomial4,nary) x2"},
                                           {"hier(arrive,dissemination,release) x1", "hier(arrive,dissemination2,release) x1"},
                                           {"flat(kbruck) x2 ordered", "flat(kbruck4) x2 ordered"},
                                           {"flat(exclusive_dissemination)", "flat(exclusive_dissemination)"},
                                           {"flat(kbruck16)", "flat(kbruck16)"},
                                           {"hier(knomial,knomial,knomial,knomial,knomial,knomial,knomial)", NULL}}; /* too long: as it was */
    char name[HX_CANDIDATE_NAME_BYTES];
    struct hx_table *table = hx_table_new(), *again;

    (void)state;
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        snprintf(name, sizeof(name), "%s", plans[i][0]);
        hx_candidate_name_renew(name);
        assert_string_equal(name, plans[i][plans[i][1] != NULL]);
    }
    add(table, entry_of("4,4,3", HX_COLL_BCAST, 0, 4095, plans[0][0]));
    strcpy(table->entries[0].default_plan, plans[2][0]);
    write_file(table);
    assert_int_equal(hx_table_read(path, &again), HX_SUCCESS);
    assert_string_equal(again->entries[0].plan, plans[0][1]);
    assert_string_equal(again->entries[0].default_plan, plans[2][1]);
    hx_table_free(table);
    hx_table_free(again);
    unlink(path);
}

/* A file that coll_tune has written before and after an update of libfabric, which then called native TCP otherwise. */
static void files_may_have_both_names_of_tcp(void **state)
{
    struct hx_table *table = hx_table_new(), *again;
    struct hx_table_entry older = entry_of("2x2", HX_COLL_ALLREDUCE, 0, 1000, "older");
    const struct hx_table_entry newer = entry_of("2x2", HX_COLL_ALLREDUCE, 500, 600, "newer");
    struct hx_cost_params params;
    struct hx_table_model model;

    (void)state;
    hx_cost_defaults(&params, 1);
    for (int points = 3; points <= 4; points++) {
        hx_table_model_fill(&model, "tcp", &params, points);
        strcpy(model.provider, points == 3 ? "net" : "tcp");
        assert_int_equal(hx_table_model_add(table, &model), HX_SUCCESS);
    }
    strcpy(older.provider, "net");
    add(table, older);
    add(table, newer);
    assert_null(hx_table_sort(table));
    write_file(table);
    assert_int_equal(hx_table_read(path, &again), HX_SUCCESS);
    assert_int_equal(again->nmodels, 1);
    assert_int_equal(hx_table_model(again, "net")->points, 4);
    assert_int_equal(again->n, 3);
    assert_string_equal(plan_at(again, &newer, 499), "older");
    assert_string_equal(plan_at(again, &newer, 550), "newer");
    assert_string_equal(plan_at(again, &newer, 601), "older");
    hx_table_free(table);
    hx_table_free(again);
    unlink(path);
}

/* Of the network and of the node, each with its own parameters; a later one of a provider replaces the first. */
static void models_are_read_as_written(void **state)
{
    struct hx_table *table = hx_table_new(), *again;
    struct hx_cost_params params, found;
    struct hx_table_model model;
    char name[8];

    (void)state;
    hx_cost_defaults(&params, 1);
    params.net_alpha_us = 31.25;
    hx_table_model_fill(&model, "net", &params, 3);
    assert_int_equal(hx_table_model_add(table, &model), HX_SUCCESS);
    params.intra_gb_s = 6.5;
    hx_table_model_fill(&model, "", &params, 4);
    assert_int_equal(hx_table_model_add(table, &model), HX_SUCCESS);
    params.net_alpha_us = 42;
    hx_table_model_fill(&model, "net", &params, 5);
    assert_int_equal(hx_table_model_add(table, &model), HX_SUCCESS);
    write_file(table);
    assert_int_equal(hx_table_read(path, &again), HX_SUCCESS);
    assert_int_equal(again->nmodels, 2);
    assert_null(hx_table_model(again, "efa"));
    assert_int_equal(hx_table_model(again, "net")->points, 5);
    assert_ptr_equal(hx_table_model(again, "tcp"), hx_table_model(again, "net")); /* both are native TCP */
    hx_cost_defaults(&found, 1);
    hx_table_model_use(hx_table_model(again, ""), &found);
    assert_true(found.intra_gb_s == 6.5 && found.net_alpha_us == 18);
    hx_table_model_use(hx_table_model(again, "net"), &found);
    assert_true(found.intra_gb_s == 6.5 && found.net_alpha_us == 42);
    for (int i = 2; i < HX_TABLE_MODELS; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        hx_table_model_fill(&model, name, &params, 1);
        assert_int_equal(hx_table_model_add(table, &model), HX_SUCCESS);
    }
    hx_table_model_fill(&model, "more", &params, 1);
    assert_int_equal(hx_table_model_add(table, &model), HX_ERR_ENV);
    hx_table_free(table);
    hx_table_free(again);
    unlink(path);
}

/* ---- files that are no tables ------------------------------------------------------------------------------------- */

static const char good[] =
    "{\n"
    "  \"hierax_table\": 1, \"hierax\": \"0.1.0\",\n"
    "  \"machine\": {\"cpu\": \"a } [ cpu\", \"cpus\": 2}, \"models\": [{\"provider\": \"\", \"intra_alpha_us\": 0.25, "
    "\"intra_gb_s\": 8, \"reduce_gb_s\": 12.5, \"fetch_us\": 1, \"fetch_gb_s\": 5, \"switch_us\": 1, \"points\": 5}],\n"
    "  \"entries\": [\n"
    "    {\"collective\": \"allreduce\", \"commutative\": true, \"nodes\": 1, \"ranks_per_node\": [4, 4], \"placement\": \"block\",\n"
    "     \"provider\": \"\", \"bytes\": [0, 99], \"plan\": \"flat(ring)\", \"slice\": 0, \"us\": 1, \"default_us\": 1.5,\n"
    "     \"default_plan\": \"flat(nary)\"},\n"
    "    {\"collective\": \"bcast\", \"commutative\": true, \"nodes\": 1, \"ranks_per_node\": [4, 4], \"placement\": \"block\",\n"
    "     \"provider\": \"\", \"bytes\": [0, null], \"plan\": \"flat(nary)\", \"slice\": 0, \"us\": 1, \"default_us\": 1.5,\n"
    "     \"default_plan\": \"flat(nary)\"}\n"
    "  ]\n"
    "}\n";

static hx_status_t read_bytes(const void *text, size_t bytes)
{
    FILE *out = fopen(path, "w");
    struct hx_table *table;
    hx_status_t status;

    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, bytes, out), bytes);
    assert_int_equal(fclose(out), 0);
    status = hx_table_read(path, &table);
    assert_true((status == HX_SUCCESS) == (table != NULL));
    hx_table_free(table);
    return status;
}

static void the_schema_has_the_limits_of_a_slice(void **state)
{
    char limits[64];

    (void)state;
    snprintf(limits, sizeof(limits), "{\"minimum\": %d, \"maximum\": %d}", HX_SLICE_LEAST, HX_SLICE_MOST);
    assert_non_null(strstr(hx_table_schema, limits));
}

static void faults_are_told_with_their_line(void **state)
{
    static const struct {
        const char *from, *to, *told;
    } faults[] = {
        {"\"hierax_table\": 1", "\"hierax_table\": 2", ":2:19: hierax_table is of a later version"},
        {"\"hierax_table\": 1", "\"hierax_table\": 9223372036854775807", ":2:19: hierax_table is out of range"},
        {"\"hierax_table\": 1", "\"hierax_table\": \"1\"", ":2:19: hierax_table must be an integer"},
        {"\"hierax_table\": 1,", "", ":1:1: hierax_table is missing"},
        {"\"cpus\": 2", "\"cpus\": 0", ":3:43: cpus is out of range: 1 to 2147483647"},
        {"\"cpus\": 2", "\"cpus\": NaN", ":3:43: cpus must be an integer"},
        {"\"machine\"", "\"maschine\"", ":1:1: machine is missing"},
        {"\"models\": [", "\"models\": [7, ", ":3:58: a model must be an object"},
        {"\"points\": 5", "\"points\": 0", ": points is out of range"},
        {"\"intra_gb_s\": 8", "\"intra_gb_s\": 0", ": intra_gb_s is out of range"},
        {"\"intra_gb_s\": 8", "\"intra_gb_s\": 1e7", ": intra_gb_s is out of range"},
        {"\"intra_alpha_us\": 0.25, ", "", ":3:58: intra_alpha_us is missing"},
        {"\"points\": 5}",
         "\"points\": 5}, {\"provider\": \"\", \"intra_alpha_us\": 1, \"intra_gb_s\": 1, \"reduce_gb_s\": 1, "
         "\"fetch_us\": 1, \"fetch_gb_s\": 1, \"switch_us\": 1, \"points\": 5}",
         ": this provider has a model already"},
        {"\"provider\": \"\", \"intra_alpha_us\"", "\"provider\": \"net\", \"intra_alpha_us\"",
         ":3:58: net_alpha_us is missing"},
        {"\"entries\": [", "\"entries\": [7, ", ":4:15: an entry must be an object"},
        {"\"allreduce\"", "\"allreduse\"", ":5:20: allreduse: no such collective"},
        {"\"bcast\", \"commutative\": true", "\"bcast\", \"commutative\": 1", ":8:44: commutative must be true or false"},
        {"\"nodes\": 1", "\"datatype\": \"floats\", \"nodes\": 1", ":5:66: datatype is none of \"float\", \"half\", \"integer\", \"own\""},
        {"\"nodes\": 1", "\"datatype\": 3, \"nodes\": 1", ":5:66: datatype must be a text"},
        {"\"bcast\",", "\"bcast\", \"datatype\": \"half\",", ": datatype must be \"float\" where nothing is added up"},
        {"\"nodes\": 1", "\"alloc\": \"yes\", \"nodes\": 1", ":5:63: alloc must be true or false"},
        {"\"nodes\": 1", "\"loop\": \"hot\", \"nodes\": 1", ":5:62: loop is neither \"cold\" nor \"mixed\""},
        {"\"nodes\": 1", "\"nodes\": 1e3", ":5:63: nodes must be an integer"},
        {"\"nodes\": 1", "\"nodes\": -1", ":5:63: nodes is out of range"},
        {"\"nodes\": 1", "\"nodes\": 1, \"nodes\": 2", ":5:66: this object has this member twice"},
        {"\"nodes\": 1", "\"nodes\": 1, \"n\\u006fdes\": 2", ":5:66: the name of this member has an escape"},
        {"\"nodes\": 1", "\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"o\":1,\"p\":1,\"q\":1,"
         "\"r\":1,\"s\":1,\"t\":1,\"u\":1,\"v\":1,\"w\":1,\"nodes\": 1", "this object has too many members"},
        {"[4, 4], \"placement\": \"block\",\n     \"provider\": \"\", \"bytes\": [0, null]",
         "[4, 3], \"placement\": \"block\",\n     \"provider\": \"\", \"bytes\": [0, null]", ":8:80: ranks_per_node: the first is more"},
        {"\"bytes\": [0, null]", "\"bytes\": [0, -1]", ":9:31: bytes must hold integers"},
        {"\"bytes\": [0, null]", "\"bytes\": [0]", ":9:31: bytes must be an array of two"},
        {"\"us\": 1,", "\"us\": -1.5,", ":6:80: us must be finite"},
        {"\"us\": 1,", "\"us\": -1,", ":6:80: us must be finite"},
        {"\"us\": 1,", "\"us\": 1e999,", ":6:80: us must be finite"},
        {"\"us\": 1,", "\"us\": NaN,", ":6:80: us must be finite"},
        {"\"flat(ring)\"", "\"flat\\u0000(ring)\"", ":6:48: plan is too long, or holds a NUL"},
        {"\"flat(ring)\"", "\"flat\\n(ring)\"", ":6:48: plan holds a control character"},
        {"\"flat(ring)\"", "\"0123456789012345678901234567890123456789012345678901234567890123456789\"", ":6:48: plan is too long"},
        {"\"slice\": 0, \"us\": 1, \"default_us\": 1.5,\n     \"default_plan\": \"flat(nary)\"}\n", "\"us\": 1}\n", ":8:5: slice is missing"},
        {"\"slice\": 0", "\"slice\": 1", ":6:71: slice is out of range: 0, or 512 to 1073741824"},
        {"\"slice\": 0", "\"slice\": 511", ": slice is out of range"},
        {"\"slice\": 0", "\"slice\": 1073741825", ": slice is out of range"},
        {"\"slice\": 0", "\"slice\": -1", ": slice is out of range"},
        {"\"placement\": \"block\"", "\"placement\": \"spread\"", ":5:105: placement is neither"},
        {"\"bcast\"", "\"allreduce\"", ":8: bytes overlap those of the entry for the same in line 5"},
        {"  ]\n}\n", "  ]\n}\n{}\n", ":13:1: not JSON"},
        {"  ]\n}\n", "  ,]\n}\n", ":11:4: not JSON"},
        {"\"entries\": [", "\"entries\": [[[[[[[[[[[[[[[[[[[[[[", ":4:21: not JSON: nesting too deep"},
    };

    (void)state;
    assert_int_equal(read_bytes(good, strlen(good)), HX_SUCCESS);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        char text[4096];
        const char *at = strstr(good, faults[i].from);
        assert_non_null(at);
        int n = snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, faults[i].to, at + strlen(faults[i].from));
        assert_int_equal(read_bytes(text, (size_t)n), HX_ERR_ENV);
        if (!strstr(hx_last_detail(), faults[i].told))
            fail_msg("%s: told \"%s\", not \"%s\"", faults[i].to, hx_last_detail(), faults[i].told);
        assert_non_null(strstr(hx_last_detail(), path));
    }
    unlink(path);
}

static void more_models_than_a_table_holds_are_told(void **state)
{
    char text[4096];
    int n = snprintf(text, sizeof(text), "{\"hierax_table\": 1, \"hierax\": \"0.1.0\", "
                                         "\"machine\": {\"cpu\": \"c\", \"cpus\": 2}, \"models\": [\n");

    (void)state;
    for (int i = 0; i <= HX_TABLE_MODELS; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "{\"provider\": \"p%d\", \"net_alpha_us\": 1, \"net_gb_s\": 1, \"stream_gb_s\": 1, "
                      "\"message_us\": 1, \"points\": 1}%s\n", i, i < HX_TABLE_MODELS ? "," : "");
    n += snprintf(text + n, sizeof(text) - (size_t)n, "], \"entries\": []}\n");
    assert_int_equal(read_bytes(text, (size_t)n), HX_ERR_ENV);
    assert_non_null(strstr(hx_last_detail(), ":10:1: there are too many models"));
    unlink(path);
}

/* Then they stay what they are. */
static void parameters_of_single_copy_may_be_missing(void **state)
{
    static const char cut[] = "\"fetch_us\": 1, \"fetch_gb_s\": 5, ";
    struct hx_cost_params found;
    struct hx_table *table;
    char text[4096];
    const char *at = strstr(good, cut);
    FILE *out = fopen(path, "w");

    (void)state;
    assert_non_null(at);
    assert_non_null(out);
    snprintf(text, sizeof(text), "%.*s%s", (int)(at - good), good, at + strlen(cut));
    assert_int_equal(fwrite(text, 1, strlen(text), out), strlen(text));
    assert_int_equal(fclose(out), 0);
    assert_int_equal(hx_table_read(path, &table), HX_SUCCESS);
    hx_cost_defaults(&found, 1);
    found.fetch_us = found.fetch_gb_s = 77;
    hx_table_model_use(hx_table_model(table, ""), &found);
    assert_true(found.intra_gb_s == 8 && found.fetch_us == 77 && found.fetch_gb_s == 77);
    hx_table_free(table);
    unlink(path);
}

/* Cut anywhere; one byte changed anywhere; what is refused is refused in order, and nothing is read beyond the end (sanitizers tell). */
static void broken_files_do_no_harm(void **state)
{
    static const char bytes[] = {'\0', '"', '{', ']', '9', '\xff', '-', '\\'};
    size_t n = strlen(good);
    char text[sizeof(good)];
    uint64_t drawn = 12345;

    (void)state;
    for (size_t i = 0; i + 2 < n; i += 3)
        assert_int_equal(read_bytes(good, i), HX_ERR_ENV);
    for (int i = 0; i < 1500; i++) {
        memcpy(text, good, sizeof(good));
        for (int k = 0; k <= i % 3; k++) {
            drawn = drawn * 6364136223846793005u + 1442695040888963407u;
            text[(drawn >> 33) % n] = bytes[(drawn >> 24) % sizeof(bytes)];
        }
        hx_status_t status = read_bytes(text, n);
        assert_true(status == HX_SUCCESS || status == HX_ERR_ENV);
    }
    unlink(path);
}

/* What json-c lets pass, its older versions at least, and the reader's places would go wrong by. */
static void names_stand_in_quotation_marks(void **state)
{
    static const char *const wrong[] = {"{'a': 1}", "{\"a\": 1, xbx: 2}", "{\"a\": [{x}\"x: 1}]}", "[[1, {]\"b\"]: 3}]]", "{\"a\": 1, \"a\": 2}"};
    static const char *const right[] = {"{}", "[]", "{\"a\": [\"}\", {\"a\": {}, \"b\": [[], 1, \"x\"]}], \"c\": \"a\"}"};
    size_t at;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_non_null(hx_place_fault(wrong[i], &at));
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_null(hx_place_fault(right[i], &at));
}

static const char *choice_of(struct hx_planner *planner, enum hx_coll coll, struct hx_traits traits, double bytes)
{
    static struct hx_candidate candidates[HX_MAX_CANDIDATES];
    const char *fallback;
    int n = hx_planner_candidates(planner, coll, 0, traits.folding, bytes, candidates, &fallback), candidate;

    planner->cost.shared_alloc = traits.shared_alloc;
    const struct hx_table_entry *entry = hx_planner_tuned(planner, coll, traits, bytes, candidates, n, &candidate);
    return entry ? entry->plan : "none";
}

/* What was measured with floats holds for other numbers, and for memory of hx_alloc, but where the model would choose what floats or other
 * memory do not have. */
static void entries_serve_others_where_they_may(void **state)
{
    const struct hx_traits real = hx_traits_of(HX_FLOAT32), half = hx_traits_of(HX_FLOAT16), whole = hx_traits_of(HX_INT64);
    const struct hx_traits ordered = {.folding = HX_FOLDS_IN_ORDER, .numbers = HX_NUMBERS_OWN}, window = {.folding = HX_FOLDS_ALIKE, .numbers = HX_NUMBERS_FLOAT, .shared_alloc = 1},
                           whole_window = {.folding = HX_FOLDS_EXACTLY, .numbers = HX_NUMBERS_INTEGER, .shared_alloc = 1};
    const struct hx_job job = {.llc_bytes = 32 << 20, .single_copy = 1, .max_local = 1};
    const struct hx_env env = {0};
    struct hx_table *table = hx_table_new();
    struct hx_shape *shape, *one;
    struct hx_table_entry entry;
    struct hx_planner planner;
    char error[HX_TOPO_ERROR_BYTES];

    (void)state;
    shape = hx_shape_parse("7x1", error);
    assert_int_equal(hx_planner_init(&planner, &env, shape, 0, &job, NULL), HX_SUCCESS);
    snprintf(planner.provider, sizeof(planner.provider), "net");
    add(table, entry_of("7x1", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "floats"));
    add(table, entry_of("7x1", HX_COLL_SCAN, 0, UINT64_MAX, "scan of floats"));
    hx_planner_use_table(&planner, table->entries, table->n);
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, real, 1 << 20), "floats");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, half, 1 << 20), "floats");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, whole, 1 << 20), "floats");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, ordered, 1 << 20), "none");
    assert_string_equal(choice_of(&planner, HX_COLL_SCAN, ordered, 1 << 20), "scan of floats"); /* it is in order always */
    planner.cost.net_alpha_us = 25, planner.cost.net_gb_s = 2.5, planner.cost.stream_gb_s = 1.5, planner.cost.message_us = 20;
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, whole, 1024), "none"); /* exclusive dissemination */
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, half, 1024), "floats");
    entry = entry_of("7x1", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "integers");
    entry.numbers = HX_NUMBERS_INTEGER;
    add(table, entry);
    hx_planner_use_table(&planner, table->entries, table->n);
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, whole, 1024), "integers");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, real, 1024), "floats");
    hx_planner_release(&planner);

    one = hx_shape_parse("1x4", error);
    assert_int_equal(hx_planner_init(&planner, &env, one, 0, &job, NULL), HX_SUCCESS);
    add(table, entry_of("1x4", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "floats"));
    hx_planner_use_table(&planner, table->entries, table->n);
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, window, 8), "floats");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, whole_window, 8), "floats");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, window, 16 << 20), "none"); /* single copy */
    entry = entry_of("1x4", HX_COLL_ALLREDUCE, 0, UINT64_MAX, "windows");
    entry.shared_alloc = 1;
    add(table, entry);
    hx_planner_use_table(&planner, table->entries, table->n);
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, window, 16 << 20), "windows");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, whole_window, 16 << 20), "windows");
    assert_string_equal(choice_of(&planner, HX_COLL_ALLREDUCE, real, 16 << 20), "floats");
    hx_planner_release(&planner);
    hx_shape_free(shape);
    hx_shape_free(one);
    hx_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_stand_in_quotation_marks),
        cmocka_unit_test(newer_entries_cut_older),
        cmocka_unit_test(entries_serve_others_where_they_may),
        cmocka_unit_test(a_file_is_read_as_written),
        cmocka_unit_test(models_are_read_as_written),
        cmocka_unit_test(older_names_get_their_radix),
        cmocka_unit_test(files_may_have_both_names_of_tcp),
        cmocka_unit_test(the_schema_has_the_limits_of_a_slice),
        cmocka_unit_test(faults_are_told_with_their_line),
        cmocka_unit_test(more_models_than_a_table_holds_are_told),
        cmocka_unit_test(parameters_of_single_copy_may_be_missing),
        cmocka_unit_test(broken_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
