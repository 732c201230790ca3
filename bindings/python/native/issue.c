/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of collectives.def, and the calls of Hierax. */
#include "call.h"

#define PARAMS(...) {__VA_ARGS__}
const struct hxpy_row hxpy_rows[HXPY_COLLECTIVES] = {
#define ROW(name, in, out, rooted, peers, params, ...) {#name, in, out, rooted, peers, PARAMS params},
#include "collectives.def"
#undef ROW
};

#define UNWRAP(...) __VA_ARGS__
hx_status_t hxpy_issue(const struct hxpy_call *c, hx_comm_t *comm, enum hxpy_mode mode, hx_request_t **request)
{
    enum hxpy_collective which = (enum hxpy_collective)(c->row - hxpy_rows);
    if (mode == HXPY_NOW) {
        switch (which) {
#define ROW(name, in, out, rooted, peers, params, args, ...) case HXPY_##name: return hx_##name(UNWRAP args);
#include "collectives.def"
#undef ROW
        default: return HX_ERR_INTERNAL;
        }
    }
    switch (which) {
#define ROW(name, in, out, rooted, peers, params, args, ...) \
    case HXPY_##name: \
        return mode == HXPY_START ? hx_i##name(UNWRAP args, request) : hx_##name##_init(UNWRAP args, request);
#include "collectives.def"
#undef ROW
    default: return HX_ERR_INTERNAL;
    }
}
