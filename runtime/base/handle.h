/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles that the program may use after they are gone. A debug build (configure --enable-debug) keeps the memory of
 * the last ones that were freed, overwritten, so that a call on one can say so; any other build frees it at once and
 * looks at nothing.
 */
#pragma once

#include "runtime/base/error.h"
#include <stdlib.h>

#ifdef HX_DEBUG
/* Free a handle. The text says what it was and how it ended. */
void hx_handle_free(void *handle, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* That text; NULL: the handle is not of this kind. Valid for this thread until it asks again. */
const char *hx_handle_freed(const void *handle);
#else
#define hx_handle_free(handle, bytes, ...) free(handle)
static inline const char *hx_handle_freed(const void *handle)
{
    (void)handle;
    return NULL;
}
#endif

/* HX_SUCCESS, or HX_ERR_STATE with a detail for this thread. name: of the public function. */
static inline hx_status_t hx_handle_check(const void *handle, const char *name)
{
    const char *freed = hx_handle_freed(handle);
    return freed ? hx_fail(HX_ERR_STATE, "%s: %s", name, freed) : HX_SUCCESS;
}
