/* SPDX-License-Identifier: BSD-3-Clause */
/* Status names, and this thread's last detail text. */
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/version.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last_detail[HX_DETAIL_BYTES];
static _Thread_local int held;

hx_status_t hx_fail(hx_status_t status, const char *format, ...)
{
    char text[HX_DETAIL_BYTES]; /* apart from last_detail, which may be among the arguments */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hx_one_line(text);
    snprintf(last_detail, sizeof last_detail, "%s", text);
    if (!held)
        hx_log(HX_LOG_ERROR, "%s", last_detail);
    return status;
}

void hx_fail_hold(void)
{
    held++;
}

void hx_fail_release(int tell)
{
    held -= held > 0;
    if (tell)
        hx_log(HX_LOG_ERROR, "%s", last_detail);
}

void hx_recall(const char *detail)
{
    snprintf(last_detail, sizeof last_detail, "%s", detail);
}

void hx_detail_keep(char *text)
{
    if (text && !text[0])
        snprintf(text, HX_DETAIL_BYTES, "%s", last_detail);
}

const char *hx_last_detail(void)
{
    return last_detail;
}

/* NULL: there is no such status. */
static const char *text_of(int64_t status)
{
    static const char *const texts[] = {
        [HX_SUCCESS] = "HX_SUCCESS: no error",
        [HX_ERR_ARG] = "HX_ERR_ARG: wrong argument",
        [HX_ERR_STATE] = "HX_ERR_STATE: not started, finalized, in a child made by fork, or not possible now",
        [HX_ERR_ENV] = "HX_ERR_ENV: wrong setting or launcher environment",
        [HX_ERR_NOMEM] = "HX_ERR_NOMEM: memory or another local resource is exhausted or refused",
        [HX_ERR_BOOTSTRAP] = "HX_ERR_BOOTSTRAP: the launcher or the store cannot be reached or disagrees",
        [HX_ERR_TRANSPORT] = "HX_ERR_TRANSPORT: the network refuses to work",
        [HX_ERR_TIMEOUT] = "HX_ERR_TIMEOUT: waited longer than HX_TIMEOUT",
        [HX_ERR_PEER_DEAD] = "HX_ERR_PEER_DEAD: a rank of the communicator has died",
        [HX_ERR_INTERNAL] = "HX_ERR_INTERNAL: a fault of Hierax itself",
        [HX_ERR_MISMATCH] = "HX_ERR_MISMATCH: ranks make different calls, or with different arguments",
        [HX_ERR_REVOKED] = "HX_ERR_REVOKED: a rank has revoked the communicator",
        [HX_ERR_MINORITY] = "HX_ERR_MINORITY: other ranks cannot be reached, and may still run",
    };
    const uint64_t idx = (uint64_t)status;

    return idx < sizeof texts / sizeof texts[0] ? texts[idx] : NULL;
}

const char *hx_strerror(hx_status_t status)
{
    const char *text = text_of((int64_t)status);

    return text ? text : "unknown status";
}

int hx_status_is_error(int64_t status)
{
    return status != HX_SUCCESS && text_of(status);
}

const char *hx_version(void)
{
    return HX_VERSION_TEXT;
}
