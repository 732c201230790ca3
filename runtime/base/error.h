/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors: the function that first decides an error calls hx_fail once; callers pass the status on in silence. */
#pragma once

#include "runtime/hierax.h"

#define HX_DETAIL_BYTES 1024

/* Record the detail text of an error in this thread, log it once at level "error", and return status. The text is
 * lower case and holds exact values and, for a bad choice, the choices. It is one line: values may hold control characters, which become
 * blanks. */
hx_status_t hx_fail(hx_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* While a job starts, many ranks may fail because of one fault. hx_fail_hold: do not log this thread's errors until it is known which rank
 * reports the fault. hx_fail_release: log errors again; tell: also log the last error that was held. */
void hx_fail_hold(void);
void hx_fail_release(int tell);

/* Put a blank in the place of each control character. */
static inline void hx_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            *text = ' ';
}

/* Make a text this thread's last one without logging it: that has been done, or is for the caller to decide. */
void hx_recall(const char *detail);

/* Copy this thread's last detail to text (HX_DETAIL_BYTES bytes), unless text is NULL or already holds a detail. For a thread that
 * finds why another thread's call fails. */
void hx_detail_keep(char *text);

/* Is this number, which another rank has sent, an error that this rank knows? */
int hx_status_is_error(int64_t status);

/* This thread's last detail text; never NULL. */
const char *hx_last_detail(void);
