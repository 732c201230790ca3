/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a tuning table from JSON, and checks every value. */
#include "runtime/base/error.h"
#include "hier/compose/compose.h"
#include "hier/table/table.h"
#include "hier/table/json_place.h"
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* As hx_fail, but silent: see table.h. */
__attribute__((format(printf, 2, 3))) static hx_status_t decline(hx_status_t status, const char *format, ...)
{
    char text[HX_DETAIL_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    hx_recall(text);
    return status;
}

struct reader {
    const char *path, *text;
    size_t bytes;
    struct json_object *from; /* the object whose members are read */
    size_t at;                /* its offset in text */
    hx_status_t status;       /* sticky */
};

static int line_of(const struct reader *r, size_t at, int *column)
{
    int line = 1;

    *column = 1;
    hx_place_line(r->text, 0, at, &line, column);
    return line;
}

static void refuse(struct reader *r, size_t at, const char *what, const char *reason)
{
    int column, line = line_of(r, at, &column);

    if (r->status == HX_SUCCESS)
        r->status = decline(HX_ERR_ENV, "%s:%d:%d: %s%s", r->path, line, column, what, reason);
}

static void bad(struct reader *r, const char *reason, const char *name)
{
    refuse(r, hx_place_member(r->text, r->at, name), name, reason);
}

static struct json_object *member(struct reader *r, const char *name, enum json_type type, const char *must)
{
    struct json_object *value = NULL;

    if (r->status != HX_SUCCESS)
        return NULL;
    if (!json_object_object_get_ex(r->from, name, &value))
        bad(r, " is missing", name);
    else if (!json_object_is_type(value, type))
        bad(r, must, name);
    return r->status == HX_SUCCESS ? value : NULL;
}

static void read_text(struct reader *r, const char *name, char *text, size_t capacity)
{
    struct json_object *value = member(r, name, json_type_string, " must be a text");
    const char *found = value ? json_object_get_string(value) : "";
    size_t bytes = value ? (size_t)json_object_get_string_len(value) : 0;

    if (bytes >= capacity || bytes != strlen(found))
        bad(r, " is too long, or holds a NUL", name);
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)found[i] < ' ')
            bad(r, " holds a control character", name);
    if (r->status == HX_SUCCESS)
        memcpy(text, found, bytes + 1);
}

static int64_t read_integer(struct reader *r, const char *name, int64_t low, int64_t high)
{
    struct json_object *value = member(r, name, json_type_int, " must be an integer");
    int64_t found = value ? json_object_get_int64(value) : low;
    char reason[96];

    snprintf(reason, sizeof(reason), " is out of range: %lld to %lld", (long long)low, (long long)high);
    if (found < low || found > high)
        bad(r, reason, name);
    return found;
}

/* Read a size that the planner may cut vectors into, or 0. */
static uint64_t read_slice(struct reader *r, const char *name)
{
    uint64_t found = (uint64_t)read_integer(r, name, 0, INT64_MAX);
    char reason[96];

    snprintf(reason, sizeof(reason), " is out of range: 0, or %d to %d", HX_SLICE_LEAST, HX_SLICE_MOST);
    if (found && (found < HX_SLICE_LEAST || found > HX_SLICE_MOST))
        bad(r, reason, name);
    return found;
}

static double read_number(struct reader *r, const char *name)
{
    struct json_object *value = NULL;
    int is_integer = r->status == HX_SUCCESS && json_object_object_get_ex(r->from, name, &value) && json_object_is_type(value, json_type_int);
    double found;

    value = member(r, name, is_integer ? json_type_int : json_type_double, " must be a number");
    found = value ? json_object_get_double(value) : 0;
    if (!isfinite(found) || found < 0)
        bad(r, " must be finite and not negative", name);
    return found;
}

/* Two integers, the second no less than the first; nulls only where they are allowed. */
static void read_pair(struct reader *r, const char *name, int64_t low, int nulls, uint64_t pair[2])
{
    struct json_object *value = member(r, name, json_type_array, " must be an array of two integers");

    if (value && json_object_array_length(value) != 2)
        bad(r, " must be an array of two integers", name);
    for (size_t i = 0; i < 2 && r->status == HX_SUCCESS; i++) {
        struct json_object *item = json_object_array_get_idx(value, i);
        if (!item && nulls) {
            pair[i] = i ? UINT64_MAX : 0;
            continue;
        }
        if (!json_object_is_type(item, json_type_int) || json_object_get_int64(item) < low)
            bad(r, nulls ? " must hold integers of at least 0, or null" : " must hold integers of at least 1", name);
        pair[i] = (uint64_t)json_object_get_int64(item);
    }
    if (r->status == HX_SUCCESS && pair[0] > pair[1])
        bad(r, ": the first is more than the second", name);
}

static int read_flag(struct reader *r, const char *name)
{
    return json_object_get_boolean(member(r, name, json_type_boolean, " must be true or false"));
}

/* It may be missing. */
static void read_numbers(struct reader *r, struct hx_table_entry *entry)
{
    char name[16] = "float";
    int numbers = 0;

    if (json_object_object_get_ex(r->from, "datatype", NULL))
        read_text(r, "datatype", name, sizeof(name));
    while (numbers < HX_NUMBERS_COUNT && strcmp(name, hx_numbers_names[numbers]))
        numbers++;
    if (r->status == HX_SUCCESS && numbers == HX_NUMBERS_COUNT)
        bad(r, " is none of \"float\", \"half\", \"integer\", \"own\"", "datatype");
    else if (r->status == HX_SUCCESS && numbers != HX_NUMBERS_FLOAT && !hx_coll_reduces(entry->coll))
        bad(r, " must be \"float\" where nothing is added up", "datatype");
    entry->numbers = (enum hx_numbers)numbers;
}

/* The member may be missing: older tables have cold calls only. */
static void read_loop(struct reader *r, struct hx_table_entry *entry)
{
    char name[16] = "cold";

    if (json_object_object_get_ex(r->from, "loop", NULL))
        read_text(r, "loop", name, sizeof(name));
    if (r->status == HX_SUCCESS && strcmp(name, "cold") != 0 && strcmp(name, "mixed") != 0)
        bad(r, " is neither \"cold\" nor \"mixed\"", "loop");
    entry->mixed = !strcmp(name, "mixed");
}

static void read_entry(struct reader *r, struct hx_table_entry *entry)
{
    char name[32], placement[16];
    uint64_t ranks[2] = {0, 0}, bytes[2] = {0, 0};

    if (!json_object_is_type(r->from, json_type_object)) {
        refuse(r, r->at, "an entry", " must be an object");
        return;
    }
    read_text(r, "collective", name, sizeof(name));
    if (r->status == HX_SUCCESS && hx_coll_parse(name, &entry->coll) != 0)
        refuse(r, hx_place_member(r->text, r->at, "collective"), name, ": no such collective");
    entry->ordered = !read_flag(r, "commutative");
    read_numbers(r, entry);
    entry->shared_alloc = json_object_object_get_ex(r->from, "alloc", NULL) && read_flag(r, "alloc");
    entry->nnodes = (int)read_integer(r, "nodes", 1, INT_MAX);
    read_pair(r, "ranks_per_node", 1, 0, ranks);
    if (ranks[1] > INT_MAX)
        bad(r, " is out of range", "ranks_per_node");
    entry->min_local = (int)ranks[0];
    entry->max_local = (int)ranks[1];
    read_text(r, "placement", placement, sizeof(placement));
    if (r->status == HX_SUCCESS && strcmp(placement, "block") != 0 && strcmp(placement, "other") != 0)
        bad(r, " is neither \"block\" nor \"other\"", "placement");
    entry->in_order = r->status == HX_SUCCESS && !strcmp(placement, "block");
    read_text(r, "provider", entry->provider, sizeof(entry->provider));
    read_pair(r, "bytes", 0, 1, bytes);
    entry->from_bytes = bytes[0];
    entry->to_bytes = bytes[1];
    entry->measured_bytes = json_object_object_get_ex(r->from, "measured", NULL) ? read_integer(r, "measured", 0, INT64_MAX) : -1;
    read_loop(r, entry);
    read_text(r, "plan", entry->plan, sizeof(entry->plan));
    hx_candidate_name_renew(entry->plan);
    entry->slice_bytes = read_slice(r, "slice");
    entry->us = read_number(r, "us");
    read_text(r, "default_plan", entry->default_plan, sizeof(entry->default_plan));
    hx_candidate_name_renew(entry->default_plan);
    entry->default_us = read_number(r, "default_us");
}

static void read_machine(struct reader *r, struct hx_table *table)
{
    const size_t root_at = r->at;
    int column;

    r->from = member(r, "machine", json_type_object, " must be an object");
    r->at = hx_place_member(r->text, root_at, "machine");
    table->line = line_of(r, r->at, &column);
    if (r->status == HX_SUCCESS) {
        read_text(r, "cpu", table->machine.cpu, sizeof(table->machine.cpu));
        table->machine.cpus = (int)read_integer(r, "cpus", 1, INT_MAX);
    }
    r->at = root_at;
}

static void read_model(struct reader *r, struct hx_table_model *model)
{
    const size_t length = strlen(r->path), most = sizeof(model->file) - 1;

    snprintf(model->file, sizeof(model->file), "%s", r->path + (length > most ? length - most : 0));
    read_text(r, "provider", model->provider, sizeof(model->provider));
    model->points = (int)read_integer(r, "points", 1, INT_MAX);
    for (int k = 0; k < HX_COST_PARAMETERS && r->status == HX_SUCCESS; k++) {
        const struct hx_cost_parameter *parameter = &hx_cost_parameters[k];
        const char *name = parameter->name;
        if (parameter->net != (model->provider[0] != 0) || (parameter->optional && !json_object_object_get_ex(r->from, name, NULL)))
            continue;
        model->values[k] = read_number(r, name);
        if (model->values[k] < HX_COST_LEAST || model->values[k] > HX_COST_MOST)
            bad(r, " is out of range", name);
    }
}

static int has_model(const struct hx_table *table, const char *provider)
{
    for (int i = 0; i < table->nmodels; i++)
        if (!strcmp(table->models[i].provider, provider))
            return 1;
    return 0;
}

/* A table may have none. */
static void read_models(struct reader *r, struct json_object *root, struct hx_table *table)
{
    const size_t root_at = r->at;
    struct json_object *models = NULL;
    size_t at = hx_place_first(r->text, hx_place_member(r->text, r->at, "models"));

    if (!json_object_object_get_ex(root, "models", &models))
        return;
    if (!json_object_is_type(models, json_type_array)) {
        bad(r, " must be an array", "models");
        return;
    }
    for (size_t i = 0; i < json_object_array_length(models) && r->status == HX_SUCCESS; i++) {
        int column;
        struct hx_table_model model = {.line = line_of(r, at, &column)};
        r->at = at;
        r->from = json_object_array_get_idx(models, i);
        if (!json_object_is_type(r->from, json_type_object))
            refuse(r, at, "a model", " must be an object");
        else
            read_model(r, &model);
        if (r->status == HX_SUCCESS && has_model(table, model.provider))
            refuse(r, at, "this provider has a model already", "");
        else if (r->status == HX_SUCCESS && table->nmodels == HX_TABLE_MODELS)
            refuse(r, at, "there are too many models", "");
        else if (r->status == HX_SUCCESS)
            r->status = hx_table_model_add(table, &model);
        at = hx_place_next(r->text, at);
    }
    r->at = root_at;
    r->from = root;
}

/* Their order is made later. */
static void read_entries(struct reader *r, struct json_object *entries, struct hx_table *table)
{
    size_t at = hx_place_first(r->text, hx_place_member(r->text, r->at, "entries")), before = 0;
    size_t n = json_object_array_length(entries);
    int line = 1, column = 1;

    if (n && !(table->entries = calloc(n, sizeof(*table->entries))))
        r->status = decline(HX_ERR_NOMEM, "%s: no memory for a table of %zu entries", r->path, n);
    for (size_t i = 0; r->status == HX_SUCCESS && i < n; i++, at = hx_place_next(r->text, at)) {
        hx_place_line(r->text, before, at, &line, &column);
        r->at = before = at;
        r->from = json_object_array_get_idx(entries, i);
        table->entries[i].line = line;
        read_entry(r, &table->entries[i]);
        table->n += r->status == HX_SUCCESS;
    }
}

static void read_root(struct reader *r, struct json_object *root, struct hx_table *table)
{
    const struct hx_table_entry *twice;
    struct json_object *entries;

    r->at = 0;
    r->from = root;
    if (!json_object_is_type(root, json_type_object)) {
        refuse(r, 0, "the file", " is not a table");
        return;
    }
    if (read_integer(r, "hierax_table", 1, INT_MAX) > HX_TABLE_VERSION)
        bad(r, " is of a later version: this Hierax reads version 1", "hierax_table");
    read_text(r, "hierax", table->machine.hierax, sizeof(table->machine.hierax));
    entries = member(r, "entries", json_type_array, " must be an array");
    read_machine(r, table);
    if (r->status == HX_SUCCESS)
        read_models(r, root, table);
    if (r->status == HX_SUCCESS)
        read_entries(r, entries, table);
    if (r->status == HX_SUCCESS && (twice = hx_table_sort(table)))
        r->status = decline(HX_ERR_ENV, "%s:%d: bytes overlap those of the entry for the same in line %d", r->path, twice[1].line, twice->line);
    if (r->status == HX_SUCCESS)
        r->status = hx_table_rename(table);
}

static void parse(struct reader *r, struct hx_table *table)
{
    struct json_tokener *tokener = json_tokener_new_ex(HX_PLACE_DEPTH);
    struct json_object *root;
    enum json_tokener_error error;
    const char *fault;
    size_t at;

    if (!tokener) {
        r->status = decline(HX_ERR_NOMEM, "%s: no memory to read it", r->path);
        return;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    root = json_tokener_parse_ex(tokener, r->text, (int)r->bytes + 1); /* with the NUL: that is where it must end */
    error = json_tokener_get_error(tokener);
    at = json_tokener_get_parse_end(tokener);
    if (strlen(r->text) != r->bytes)
        refuse(r, strlen(r->text), "not JSON: a NUL", "");
    else if (error == json_tokener_error_parse_eof)
        refuse(r, at, "not JSON: it ends too early", "");
    else if (error != json_tokener_success)
        refuse(r, at, "not JSON: ", json_tokener_error_desc(error));
    else if (at < r->bytes)
        refuse(r, at, "not JSON: something follows its end", "");
    else if ((fault = hx_place_fault(r->text, &at)))
        refuse(r, at, fault, "");
    else
        read_root(r, root, table);
    json_object_put(root);
    json_tokener_free(tokener);
}

hx_status_t hx_table_parse(const char *path, const char *text, size_t bytes, struct hx_table **table)
{
    struct reader r = {.path = path, .text = text, .bytes = bytes};

    if (!(*table = hx_table_new()))
        return decline(HX_ERR_NOMEM, "%s: no memory to read it", path);
    parse(&r, *table);
    if (r.status != HX_SUCCESS) {
        hx_table_free(*table);
        *table = NULL;
    }
    return r.status;
}

/* The file's bytes and a NUL behind them. */
static hx_status_t load(const char *path, char **text, size_t *bytes)
{
    struct stat info;
    size_t capacity;
    FILE *in;

    if (stat(path, &info) != 0)
        return decline(HX_ERR_ENV, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) /* before it is opened: a pipe would wait for a writer */
        return decline(HX_ERR_ENV, "%s: it is %s", path, S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    if (info.st_size < 0 || info.st_size > HX_TABLE_MAX_BYTES)
        return decline(HX_ERR_ENV, "%s: it has %lld bytes, and a table at most %d", path, (long long)info.st_size, HX_TABLE_MAX_BYTES);
    if (!(in = fopen(path, "re")))
        return decline(HX_ERR_ENV, "%s: %s", path, strerror(errno));
    capacity = (size_t)info.st_size + 1;
    *text = malloc(capacity);
    *bytes = *text ? fread(*text, 1, capacity - 1, in) : 0;
    fclose(in);
    if (!*text)
        return decline(HX_ERR_NOMEM, "%s: no memory for %zu bytes", path, capacity);
    (*text)[*bytes] = '\0';
    return HX_SUCCESS;
}

hx_status_t hx_table_read(const char *path, struct hx_table **table)
{
    char *text = NULL;
    size_t bytes;
    hx_status_t status = load(path, &text, &bytes);

    *table = NULL;
    if (status == HX_SUCCESS)
        status = hx_table_parse(path, text, bytes, table);
    free(text);
    return status;
}
