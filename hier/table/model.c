/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured parameters of the cost model in a table. */
#include "runtime/base/error.h"
#include "hier/table/table.h"
#include <stdio.h>
#include <string.h>

static int is_of_kind(const struct hx_table_model *model, int k)
{
    return hx_cost_parameters[k].net == (model->provider[0] != 0);
}

const struct hx_table_model *hx_table_model(const struct hx_table *table, const char *provider)
{
    for (int i = 0; i < table->nmodels; i++)
        if (!strcmp(table->models[i].provider, provider))
            return &table->models[i];
    return NULL;
}

hx_status_t hx_table_model_add(struct hx_table *table, const struct hx_table_model *model)
{
    int at = 0;

    while (at < table->nmodels && strcmp(table->models[at].provider, model->provider) != 0)
        at++;
    if (at == HX_TABLE_MODELS)
        return hx_fail(HX_ERR_ENV, "a table holds the models of %d providers at most", HX_TABLE_MODELS - 1);
    table->models[at] = *model;
    table->nmodels += at == table->nmodels;
    return HX_SUCCESS;
}

void hx_table_model_fill(struct hx_table_model *model, const char *provider, const struct hx_cost_params *params,
                         int points)
{
    struct hx_cost_params all = *params;

    *model = (struct hx_table_model){.points = points};
    snprintf(model->provider, sizeof(model->provider), "%s", provider);
    for (int k = 0; k < HX_COST_PARAMETERS; k++)
        if (is_of_kind(model, k))
            model->values[k] = *hx_cost_parameter(&all, k);
}

void hx_table_model_use(const struct hx_table_model *model, struct hx_cost_params *params)
{
    for (int k = 0; k < HX_COST_PARAMETERS && model->points > 0; k++)
        if (model->values[k] > 0)
            *hx_cost_parameter(params, k) = model->values[k];
}
