/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings that force algorithms: HX_ALLREDUCE=ring:1M-,mesh:-64K is the ring from 1 MiB on and the mesh below 64 KiB.
 * Each item is a name, and the sizes that it is for: from FROM on and below TO, in bytes of the whole vector. One
 * without sizes is for all that are left.
 */
#include "hier/planner.h"
#include "runtime/base/error.h"
#include "runtime/base/size.h"
#include <stdio.h>
#include <string.h>

#define RANGE_HELP \
    "expected NAME or NAME:FROM-TO (from FROM on, below TO; one of them may be left out), as in ring:1M-,mesh:-64K"

struct item {
    const char *text; /* name, and what follows */
    int length, name; /* bytes of it all, of the name */
    int ranged;
    int64_t from, below;
};

const char hx_forced_hier[] = "hier";

/* Returns 0, or -1 for sizes that are none. */
static int range_parse(struct item *item)
{
    const char *at = item->text + item->name + 1, *end = item->text + item->length;

    item->from = 0;
    item->below = INT64_MAX;
    if (*at != '-' && hx_size_parse(at, &at, &item->from) < 0)
        return -1;
    if (*at++ != '-')
        return -1;
    if (at != end && hx_size_parse(at, &at, &item->below) < 0)
        return -1;
    return at == end && item->length > item->name + 2 && item->from < item->below ? 0 : -1;
}

/* The item at text; *next: the one after, or NULL. Returns -1 for sizes that are none. */
static int item_parse(const char *text, struct item *item, const char **next)
{
    *item = (struct item){.text = text, .length = (int)strcspn(text, ","), .name = (int)strcspn(text, ",:")};
    *next = text[item->length] ? text + item->length + 1 : NULL;
    item->ranged = item->name < item->length;
    return item->ranged ? range_parse(item) : 0;
}

/* A flat plan may be named as it is shown: flat(ring) is ring. */
static const char *item_name(const struct item *item)
{
    static const char shown[] = "flat(";
    int is_hier = item->name == (int)strlen(hx_forced_hier) && !strncmp(item->text, hx_forced_hier, (size_t)item->name);
    size_t before = strlen(shown), length = (size_t)item->name;

    if (is_hier)
        return hx_forced_hier;
    if (length > before + 1 && !strncmp(item->text, shown, before) && item->text[length - 1] == ')')
        return hx_algorithm_name(item->text + before, length - before - 1);
    return hx_algorithm_name(item->text, length);
}

static int items_collide(const struct item *a, const struct item *b)
{
    if (a->ranged != b->ranged)
        return 0;
    return !a->ranged || (a->from < b->below && b->from < a->below);
}

static const char *name_for(const char *text, double bytes)
{
    const char *rest = NULL;
    struct item item;

    while (text) {
        if (item_parse(text, &item, &text) < 0)
            return NULL; /* refused at start */
        if (!item.ranged)
            rest = item_name(&item);
        else if ((double)item.from <= bytes && bytes < (double)item.below)
            return item_name(&item);
    }
    return rest;
}

void hx_forced_settle(struct hx_forced forced[HX_COLL_COUNT], double bytes)
{
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        forced[c].plan = name_for(forced[c].plan, bytes);
        forced[c].intra = name_for(forced[c].intra, bytes);
        forced[c].inter = name_for(forced[c].inter, bytes);
    }
}

static hx_status_t name_check(const struct hx_planner *planner, const char *variable, const struct item *item, enum hx_coll coll,
                              unsigned scope, const char *also)
{
    const char *name = item_name(item);
    char choices[HX_DETAIL_BYTES];
    const struct hx_algorithm *a = name ? hx_algorithm_find(coll, scope, name) : NULL;
    int idx = 0, n;

    if (a && a->needs & HX_NEEDS_SINGLE_COPY && !planner->single_copy)
        return hx_fail(HX_ERR_ENV, "%s=%.*s: on some node, ranks cannot read each other's memory, or HX_SINGLE_COPY=0 forbids it "
                                   "(see coll_info --doctor)", variable, item->name, item->text);
    if (a || (name && also && !strcmp(name, also)))
        return HX_SUCCESS;
    if (also && item->name > 5 && !strncmp(item->text, "flat(", 5) && item->text[item->name - 1] != ')')
        return hx_fail(HX_ERR_ENV, "%s=%.*s: name only the algorithm, as in flat(ring); HX_LANES sets its channels (x2)",
                       variable, item->name, item->text);
    if (also && !strncmp(item->text, "hier(", 5))
        return hx_fail(HX_ERR_ENV,
                       "%s=%s: to force a plan of stages, set %s=hier, then HX_INTRA_... and HX_INTER_... for its stages, and "
                       "HX_LANES",
                       variable, item->text, variable);
    n = snprintf(choices, sizeof(choices), "%s", also ? also : "");
    while ((a = hx_algorithm_next(coll, scope, &idx)) && n < (int)sizeof(choices))
        n += a->radix > HX_RADIX_LEAST ? snprintf(choices + n, sizeof(choices) - (size_t)n, "|%d", a->radix) /* kradix or kradix2|3|4 */
                          : snprintf(choices + n, sizeof(choices) - (size_t)n, "%s%s%s%s", n ? ", " : "", a->family ? a->family : "",
                                     a->family ? " or " : "", a->name);
    return hx_fail(HX_ERR_ENV, "%s=%.*s: not an algorithm for %s%s in this job; choose one of %s", variable, item->name, item->text,
                   hx_coll_name(coll), also ? "" : scope & HX_SCOPE_INTER ? " between nodes" : " inside a node", choices);
}

static hx_status_t value_check(const struct hx_planner *planner, const char *variable, const char *value, enum hx_coll coll,
                               unsigned scope, const char *also)
{
    const char *next = value, *other_next;
    hx_status_t status = HX_SUCCESS;
    struct item item, other;

    while (next && status == HX_SUCCESS) {
        if (item_parse(next, &item, &next) < 0)
            return hx_fail(HX_ERR_ENV, "%s=%s: bad sizes in \"%.*s\"; " RANGE_HELP, variable, value, item.length,
                           item.text);
        if (item.ranged && (hx_coll_has_pair_counts(coll) || coll == HX_COLL_BARRIER))
            return hx_fail(HX_ERR_ENV, "%s=%s: sizes are not possible for %s, because ranks do not know each other's sizes; name only "
                           "the algorithm, as in %s=%.*s", variable, value, hx_coll_name(coll), variable, item.name, item.text);
        status = name_check(planner, variable, &item, coll, scope, also);
        for (other_next = value; status == HX_SUCCESS && other_next != item.text;) {
            item_parse(other_next, &other, &other_next);
            if (items_collide(&other, &item))
                status = hx_fail(HX_ERR_ENV, "%s=%s: \"%.*s\" and \"%.*s\" are for the same sizes; " RANGE_HELP,
                                 variable, value, other.length, other.text, item.length, item.text);
        }
    }
    return status;
}

const char *hx_forced_setting(const struct hx_planner *planner, char text[64])
{
    for (int c = 0; c < HX_COLL_COUNT; c++) {
        const struct hx_forced *forced = &planner->forced[c];
        const char *level = forced->plan ? "" : forced->intra ? "INTRA_" : forced->inter ? "INTER_" : NULL;
        if (level) {
            snprintf(text, 64, "HX_%s%s", level, hx_coll_setting((enum hx_coll)c));
            return text;
        }
    }
    if (!planner->forced_lanes && !planner->forced_slice)
        return NULL;
    return strcpy(text, planner->forced_lanes ? "HX_LANES" : "HX_SLICE");
}

void hx_forced_read(struct hx_planner *planner, const struct hx_env *env)
{
#define HX_COLL(ID, name, gives, gets, traits) \
    planner->forced[HX_COLL_##ID] = (struct hx_forced){.plan = env->name, .intra = env->intra_##name, .inter = env->inter_##name};
#include "runtime/base/coll.def"
}

hx_status_t hx_forced_check(const struct hx_planner *planner)
{
    int hier = planner->shape->nnodes > 1 && planner->shape->max_local > 1;
    unsigned flat = hx_flat_scope(planner->shape);
    hx_status_t status = HX_SUCCESS;

    for (int c = 0; c < HX_COLL_COUNT && status == HX_SUCCESS; c++) {
        const struct hx_forced *forced = &planner->forced[c];
        const struct {
            const char *prefix, *value;
            enum hx_coll coll;
            unsigned scope;
            const char *also;
        } checks[] = {{"HX_", forced->plan, (enum hx_coll)c, flat, hx_forced_hier}, /* of one level: forces nothing */
                      {"HX_INTRA_", forced->intra, (enum hx_coll)c, HX_SCOPE_INTRA, NULL},
                      {"HX_INTER_", forced->inter, hier ? hx_candidate_between((enum hx_coll)c) : (enum hx_coll)c,
                       HX_SCOPE_INTER, NULL}};
        for (int i = 0; i < 3 && status == HX_SUCCESS; i++) {
            char variable[64];
            snprintf(variable, sizeof(variable), "%s%s", checks[i].prefix, hx_coll_setting((enum hx_coll)c));
            if (checks[i].value)
                status = value_check(planner, variable, checks[i].value, checks[i].coll, checks[i].scope, checks[i].also);
        }
    }
    return status;
}
