/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing a tuning table as JSON. */
#include "hier/table/table.h"

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc((unsigned char)*text < ' ' ? '?' : *text, out);
    }
    fputc('"', out);
}

static void write_member(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": ", name);
    write_text(out, text);
}

static void write_model(FILE *out, const struct hx_table_model *model)
{
    fprintf(out, "    {\"provider\": ");
    write_text(out, model->provider);
    for (int k = 0; k < HX_COST_PARAMETERS; k++)
        if (model->values[k] > 0)
            fprintf(out, ", \"%s\": %.6g", hx_cost_parameters[k].name, model->values[k]);
    fprintf(out, ", \"points\": %d}", model->points);
}

/* An entry a line, so that a person can read, compare and edit them. */
static void write_entry(FILE *out, const struct hx_table_entry *entry)
{
    fprintf(out, "    {\"collective\": \"%s\", \"commutative\": %s, ", hx_coll_name(entry->coll),
            entry->ordered ? "false" : "true");
    if (hx_coll_reduces(entry->coll))
        fprintf(out, "\"datatype\": \"%s\", ", hx_numbers_names[entry->numbers]);
    if (entry->shared_alloc)
        fprintf(out, "\"alloc\": true, ");
    fprintf(out, "\"nodes\": %d, \"ranks_per_node\": [%d, %d], \"placement\": \"%s\"", entry->nnodes, entry->min_local, entry->max_local,
            entry->in_order ? "block" : "other");
    write_member(out, "provider", entry->provider);
    if (entry->mixed)
        write_member(out, "loop", "mixed");
    fprintf(out, ", \"bytes\": [%llu, ", (unsigned long long)entry->from_bytes);
    if (entry->to_bytes > INT64_MAX)
        fprintf(out, "null]");
    else
        fprintf(out, "%llu]", (unsigned long long)entry->to_bytes);
    if (entry->measured_bytes >= 0)
        fprintf(out, ", \"measured\": %lld", (long long)entry->measured_bytes);
    write_member(out, "plan", entry->plan);
    fprintf(out, ", \"slice\": %llu, \"us\": %.3f", (unsigned long long)entry->slice_bytes, entry->us);
    write_member(out, "default_plan", entry->default_plan);
    fprintf(out, ", \"default_us\": %.3f}", entry->default_us);
}

void hx_table_print(FILE *out, const struct hx_table *table)
{
    fprintf(out, "{\n  \"hierax_table\": %d,\n  \"hierax\": ", HX_TABLE_VERSION);
    write_text(out, table->machine.hierax);
    fprintf(out, ",\n  \"machine\": {\"cpu\": ");
    write_text(out, table->machine.cpu);
    fprintf(out, ", \"cpus\": %d},\n  \"models\": [", table->machine.cpus);
    for (int i = 0; i < table->nmodels; i++) {
        fprintf(out, "%s\n", i ? "," : "");
        write_model(out, &table->models[i]);
    }
    fprintf(out, "%s],\n  \"entries\": [", table->nmodels ? "\n  " : "");
    for (int i = 0; i < table->n; i++) {
        fprintf(out, "%s\n", i ? "," : "");
        write_entry(out, &table->entries[i]);
    }
    fprintf(out, "\n  ]\n}\n");
}
