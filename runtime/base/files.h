/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files: a node of many ranks needs more than the usual limit of 1024, and so do connections to many peers. */
#pragma once

#include "runtime/base/error.h"
#include <stdint.h>

/* How many open files a process needs while the ranks of its node start, on a node of so many ranks. */
int hx_files_needed(int ranks);
/* Raise this process's limit of open files to files, as far as the hard limit allows. Returns the limit. */
int hx_files_allow(int files);
uint64_t hx_files_look(int first); /* which descriptors are open: bit 0 is that of number first */
int hx_files_open(void); /* how many files this process has open */
/* As hx_files_allow, with the connections to other nodes in files. HX_ERR_NOMEM if the limit stays lower. */
hx_status_t hx_files_reserve(int rank, int files);
/* Fail with HX_ERR_NOMEM because a rank of the node could not be accepted. error: errno of accept; EMFILE: too few descriptors. */
hx_status_t hx_files_fail(int ranks, int error);
