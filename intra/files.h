/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files: a node of many ranks needs more than the usual limit of 1024. */
#ifndef HX_FILES_H
#define HX_FILES_H
#include "runtime/error.h"

/* What a process needs on a node of so many ranks. */
int hx_files_needed(int ranks);
/* Raise this process's limit to what it needs on a node of so many ranks, as far as the hard limit lets it. */
void hx_files_allow(int ranks);
/* What error, of accept or EMFILE of what was received, means there. Returns HX_ERR_NOMEM. */
hx_status_t hx_files_fail(int ranks, int error);

#endif
