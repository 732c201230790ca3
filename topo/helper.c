/* SPDX-License-Identifier: BSD-3-Clause */
/* Choose the core of a helper thread: the cores of this process, in order of preference. */
#include "topo/helper.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/machine.h"

struct place {
    int unit, is_program, distance, is_far;
};

/* The better first. */
static int compare(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->is_program != b->is_program)
        return a->is_program - b->is_program;
    if (a->distance != b->distance)
        return a->distance - b->distance;
    return a->is_far != b->is_far ? a->is_far - b->is_far : b->unit - a->unit;
}

static int share_cache(const struct hx_topo *topo, hwloc_const_bitmap_t units, int unit)
{
    hwloc_obj_t l3 = hwloc_get_next_obj_covering_cpuset_by_type(topo->hwloc, units, HWLOC_OBJ_L3CACHE, NULL);
    return l3 && hwloc_bitmap_isset(l3->cpuset, (unsigned)unit);
}

int hx_helper_units(const struct hx_topo *topo, const struct hx_nic *nic, int program_unit, int *units, int capacity)
{
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = 0, cores = hwloc_get_nbobjs_by_type(topo->hwloc, type);
    struct place *places = calloc((size_t)cores + 1, sizeof *places);
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    for (hwloc_obj_t at = NULL; places && usable && (at = hwloc_get_next_obj_by_type(topo->hwloc, type, at));) {
        hwloc_bitmap_and(usable, at->cpuset, topo->cores.bound);
        if (hwloc_bitmap_iszero(usable))
            continue;
        struct place *place = &places[count++];
        place->unit = hwloc_bitmap_last(usable); /* the last hardware thread of the core: programs use it last */
        place->is_program = program_unit >= 0 && hwloc_bitmap_isset(at->cpuset, (unsigned)program_unit);
        place->distance = nic ? hx_nic_distance(topo, at->cpuset, nic) : 0;
        place->is_far = program_unit >= 0 && !share_cache(topo, at->cpuset, program_unit);
    }
    hwloc_bitmap_free(usable);
    if (count == 1)
        count = 0;
    qsort(places, (size_t)count, sizeof *places, compare);
    count = count < capacity ? count : capacity;
    for (int i = 0; i < count; i++)
        units[i] = places[i].unit;
    free(places);
    return count;
}

/* Read a number and advance *at; -1: there is none, or it is too large. */
static int number(const char **at)
{
    long value = 0;
    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); ++*at)
        value = value < 1000000 ? 10 * value + (**at - '0') : value;
    return value < 1000000 ? (int)value : -1;
}

static int refuse(const struct hx_topo *topo, int unit, char *error)
{
    char allowed[128] = "";
    hwloc_bitmap_list_snprintf(allowed, sizeof allowed, topo->cores.allowed);
    snprintf(error, HX_TOPO_ERROR_BYTES, "processing unit %d is not available to this process; choose from %s", unit, allowed);
    return -1;
}

int hx_helper_units_parse(const struct hx_topo *topo, const char *list, int *units, int capacity,
                          char error[HX_TOPO_ERROR_BYTES])
{
    const char *at = list;
    int count = 0;
    do {
        int first = number(&at), last = first;
        if (first >= 0 && *at == '-')
            last = (++at, number(&at));
        if (first < 0 || last < first || (*at && *at != ',')) {
            snprintf(error, HX_TOPO_ERROR_BYTES, "expected processing units (7 or 6,7 or 12-15), or none");
            return -1;
        }
        for (int unit = first; unit <= last; unit++) {
            if (!hwloc_bitmap_isset(topo->cores.allowed, (unsigned)unit))
                return refuse(topo, unit, error);
            if (count < capacity)
                units[count++] = unit;
        }
    } while (*at++ == ',');
    return count;
}

int hx_helper_pin(const struct hx_topo *topo, pthread_t thread, int unit)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int status = set ? hwloc_bitmap_only(set, (unsigned)unit) : -1;
    if (status == 0)
        status = hwloc_set_thread_cpubind(topo->hwloc, thread, set, 0);
    hwloc_bitmap_free(set);
    return status;
}
