/* SPDX-License-Identifier: BSD-3-Clause */
/* HX_EXPLAIN tells of the calls that a tool measures, not of those by which its ranks agree: these are on the communicator of hx_init. */
#pragma once

#include "runtime/hierax.h"
#include <stdlib.h>

static inline int quiet_is_asked(void)
{
    return getenv("HX_EXPLAIN") != NULL;
}

static inline hx_status_t quiet_init(hx_comm_t **world)
{
    static const char *const settings[] = {"HX_EXPLAIN_WORLD=0", NULL};
    const hx_config_t config = {.settings = quiet_is_asked() ? settings : NULL};

    return hx_init_with(&config, world);
}
