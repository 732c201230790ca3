/* SPDX-License-Identifier: BSD-3-Clause */
/* An all-to-all whose blocks have types of their own: one of bytes. */
#include "runtime/api/call.h"
#include "runtime/api/lock.h"
#include <stdlib.h>

/* The bytes of each block. */
static hx_status_t bytes_count(const char *name, const char *prefix, int n, const size_t *counts, const hx_dtype_t *types, size_t *bytes)
{
    for (int r = 0; r < n; r++) {
        hx_status_t status = hx_dtype_check(name, types[r]);
        if (status != HX_SUCCESS)
            return status;
        if (__builtin_mul_overflow(counts[r], hx_dtype_bytes(types[r]), &bytes[r]))
            return hx_fail(HX_ERR_ARG, "%s: %scounts[%d] is %zu of %zu-byte elements: more than an address space holds", name, prefix, r,
                           counts[r], hx_dtype_bytes(types[r]));
    }
    return HX_SUCCESS;
}

struct sides { /* of a call: their counts, displacements and types */
    const size_t *counts[2], *displs[2];
    const hx_dtype_t *types[2];
};

static hx_status_t make(const char *name, const void *in, void *out, const struct sides *sides, hx_comm_t *comm, enum hx_mode mode,
                        hx_request_t **request)
{
    static const char *const prefixes[] = {"s", "r"};
    const int first = in == HX_IN_PLACE, n = hx_size(comm);
    hx_status_t status;
    size_t *bytes;

    HX_ENTER();
    if (request)
        *request = NULL;
    if ((status = hx_comm_check(comm, name)) != HX_SUCCESS || (status = hx_group_refuse(comm, name)) != HX_SUCCESS)
        return status;
    if (!(bytes = malloc(2 * (size_t)n * sizeof(*bytes))))
        return hx_comm_fail(comm, hx_fail(HX_ERR_NOMEM, "%s: no memory for %d counts", name, n));
    for (int i = first; i < 2 && status == HX_SUCCESS; i++)
        status = sides->counts[i] && sides->types[i]
                     ? bytes_count(name, prefixes[i], n, sides->counts[i], sides->types[i], bytes + i * n)
                     : hx_fail(HX_ERR_ARG, "%s: %s%s is NULL", name, prefixes[i], sides->counts[i] ? "types" : "counts");
    if (status == HX_SUCCESS) {
        struct hx_call call = hx_call_of_pairs(name, comm, in, out, HX_BYTE, (struct hx_pair_counts){n, n, bytes, sides->displs[0], bytes + n, sides->displs[1]});
        call.keeps_counts = 1;
        status = hx_call_do(&call, mode, request);
        status = mode == HX_BLOCKING ? hx_call_counted(comm, status) : status;
    } else {
        hx_comm_fail(comm, status);
    }
    free(bytes);
    return status;
}

hx_status_t hx_alltoallw(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes, void *out,
                         const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes, hx_comm_t *comm)
{
    return make(__func__, in, out, &(struct sides){{scounts, rcounts}, {sdispls, rdispls}, {stypes, rtypes}}, comm, HX_BLOCKING, NULL);
}

hx_status_t hx_ialltoallw(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes, void *out,
                          const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes, hx_comm_t *comm, hx_request_t **request)
{
    return make(__func__, in, out, &(struct sides){{scounts, rcounts}, {sdispls, rdispls}, {stypes, rtypes}}, comm, HX_NONBLOCKING, request);
}

hx_status_t hx_alltoallw_init(const void *in, const size_t *scounts, const size_t *sdispls, const hx_dtype_t *stypes, void *out,
                              const size_t *rcounts, const size_t *rdispls, const hx_dtype_t *rtypes, hx_comm_t *comm,
                              hx_request_t **request)
{
    return make(__func__, in, out, &(struct sides){{scounts, rcounts}, {sdispls, rdispls}, {stypes, rtypes}}, comm, HX_PERSISTENT, request);
}
