/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller's own put, fence and get (hx_bootstrap_t). Values are short texts, because nothing is known about the store. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_TEXT_BYTES 1000

static hx_status_t user_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    const hx_bootstrap_t *calls = &boot->calls;
    const int rc = calls->put(calls->ctx, key, value);

    (void)bytes;
    return rc ? hx_fail(HX_ERR_BOOTSTRAP, "the caller's bootstrap put(\"%s\") returned %d", key, rc) : HX_SUCCESS;
}

static hx_status_t user_fence(struct hx_boot *boot)
{
    const hx_bootstrap_t *calls = &boot->calls;
    const int rc = calls->fence(calls->ctx);

    return rc ? hx_fail(HX_ERR_BOOTSTRAP, "the caller's bootstrap fence() returned %d", rc) : HX_SUCCESS;
}

static hx_status_t user_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    const hx_bootstrap_t *calls = &boot->calls;
    char *text = calloc(1, VALUE_TEXT_BYTES + 1);

    (void)owner;
    if (!text)
        return hx_fail(HX_ERR_NOMEM, "no memory for bootstrap key \"%s\"", key);
    if (calls->get(calls->ctx, key, text, VALUE_TEXT_BYTES + 1)) {
        free(text);
        return HX_SUCCESS; /* not there */
    }
    *value = text;
    *bytes = strnlen(text, VALUE_TEXT_BYTES);
    return HX_SUCCESS;
}

static hx_status_t user_open(struct hx_boot *boot, const struct hx_env *env)
{
    const hx_bootstrap_t *calls = &boot->calls;

    (void)env;
    if (calls->size < 1 || calls->rank < 0 || calls->rank >= calls->size)
        return hx_fail(HX_ERR_ARG, "the caller's bootstrap has rank %d of %d; ranks are 0 to size - 1", calls->rank, calls->size);
    if (!calls->put || !calls->fence || !calls->get)
        return hx_fail(HX_ERR_ARG, "the caller's bootstrap lacks its %s callback",
                       !calls->put     ? "put"
                       : !calls->fence ? "fence"
                                       : "get");
    boot->rank = calls->rank;
    boot->size = calls->size;
    boot->piece_bytes = VALUE_TEXT_BYTES;
    return HX_SUCCESS;
}

const struct hx_boot_kind hx_boot_user = {.name = "user", .bytes = sizeof(struct hx_boot), .text = 1, .open = user_open,
                                          .put = user_put, .fence = user_fence, .get = user_get};
