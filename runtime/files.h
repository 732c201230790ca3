/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files: a node of many ranks needs more than the usual limit of 1024, and so do connections to many peers. */
#ifndef HX_FILES_H
#define HX_FILES_H
#include "runtime/error.h"

/* What a process needs on a node of so many ranks, while they meet. */
int hx_files_needed(int ranks);
/* Raise this process's limit to so many files, as far as the hard limit lets it. Returns the limit. */
int hx_files_allow(int files);
int hx_files_open(void); /* how many it has open */
/* As hx_files_allow, for connections to other nodes; HX_ERR_NOMEM where the limit stays lower. */
hx_status_t hx_files_reserve(int rank, int files);
/* What error, of accept or EMFILE of what was received, means there. Returns HX_ERR_NOMEM. */
hx_status_t hx_files_fail(int ranks, int error);

#endif
