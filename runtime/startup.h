/* SPDX-License-Identifier: BSD-3-Clause */
/* Start-up: from a launcher's environment to a connected world communicator, and back. */
#ifndef HX_STARTUP_H
#define HX_STARTUP_H
#include "comm.h"

hx_status_t hx_world_open(const hx_config_t *config, struct hx_world **world);
/* Let rank 0 read HX_TABLE, and all go by it. Collective; the world communicator is ready for calls. */
hx_status_t hx_tuning_share(struct hx_world *world);
void hx_world_close(struct hx_world *world, int orderly);

#endif
