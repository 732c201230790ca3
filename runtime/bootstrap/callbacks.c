/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller's own put, fence and get (hx_bootstrap_t). Values are short texts, because nothing is known about the store. */
#include "runtime/bootstrap/launcher.h"
#include "runtime/base/error.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_TEXT_BYTES 1000

struct user {
    struct hx_boot boot;
    hx_bootstrap_t calls;
};

static hx_status_t user_put(struct hx_boot *boot, const char *key, const void *value, size_t bytes)
{
    const hx_bootstrap_t *calls = &((struct user *)boot)->calls;
    const int rc = calls->put(calls->ctx, key, value);

    (void)bytes;
    return rc ? hx_fail(HX_ERR_BOOTSTRAP, "the caller's bootstrap put(\"%s\") returned %d", key, rc) : HX_SUCCESS;
}

static hx_status_t user_fence(struct hx_boot *boot)
{
    const hx_bootstrap_t *calls = &((struct user *)boot)->calls;
    const int rc = calls->fence(calls->ctx);

    return rc ? hx_fail(HX_ERR_BOOTSTRAP, "the caller's bootstrap fence() returned %d", rc) : HX_SUCCESS;
}

static hx_status_t user_get(struct hx_boot *boot, int owner, const char *key, void **value, size_t *bytes)
{
    const hx_bootstrap_t *calls = &((struct user *)boot)->calls;
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

static void user_abort(struct hx_boot *boot, const char *why)
{
    (void)boot; /* hx_bootstrap_t has no such callback: the caller sees the returned status */
    (void)why;
}

static void user_close(struct hx_boot *boot, int finalize)
{
    (void)finalize;
    free(boot);
}

static const struct hx_boot_ops user_ops = {"user", 1, user_put, user_fence, user_get, user_abort, user_close, NULL};

hx_status_t hx_boot_user_open(const struct hx_env *env, const hx_bootstrap_t *callbacks, struct hx_boot **boot)
{
    if (callbacks->size < 1 || callbacks->rank < 0 || callbacks->rank >= callbacks->size)
        return hx_fail(HX_ERR_ARG, "the caller's bootstrap has rank %d of %d; ranks are 0 to size - 1",
                       callbacks->rank, callbacks->size);
    if (!callbacks->put || !callbacks->fence || !callbacks->get)
        return hx_fail(HX_ERR_ARG, "the caller's bootstrap lacks its %s callback",
                       !callbacks->put     ? "put"
                       : !callbacks->fence ? "fence"
                                           : "get");
    struct user *user = malloc(sizeof *user);
    if (!user)
        return hx_fail(HX_ERR_NOMEM, "no memory for the bootstrap");
    *user = (struct user){.boot = {.ops = &user_ops,
                                   .rank = callbacks->rank,
                                   .size = callbacks->size,
                                   .piece_bytes = VALUE_TEXT_BYTES,
                                   .timeout = env->timeout},
                          .calls = *callbacks};
    *boot = &user->boot;
    return HX_SUCCESS;
}
