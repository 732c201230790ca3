/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines on stderr. A line leaves in one write, so that lines of many ranks sharing a terminal do not mix. */
#include "runtime/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 2048 };

_Atomic enum hx_log_level hx_log_threshold = HX_LOG_WARN;
static _Atomic int log_rank = -1;

void hx_log_configure(enum hx_log_level threshold, int rank)
{
    hx_log_threshold = threshold;
    log_rank = rank;
}

void hx_log_write(enum hx_log_level level, const char *format, ...)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const int saved_errno = errno; /* logging must not disturb an error on its way up */
    const int rank = log_rank;
    char line[LINE_BYTES];
    int used;
    va_list args;

    if (rank >= 0)
        used = snprintf(line, sizeof line, "hierax[%d] %s: ", rank, names[level]);
    else
        used = snprintf(line, sizeof line, "hierax %s: ", names[level]);
    va_start(args, format);
    const int text = vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    used += text > 0 ? text : 0;
    if (used > LINE_BYTES - 1)
        used = LINE_BYTES - 1; /* cut off */
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)used) < 0)
        errno = 0; /* nowhere left to complain */
    errno = saved_errno;
}
