/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines on stderr: "hierax[rank] level: text". The level is HX_LOG (error, warn, info, debug). */
#pragma once

enum hx_log_level { HX_LOG_ERROR, HX_LOG_WARN, HX_LOG_INFO, HX_LOG_DEBUG };

extern _Atomic enum hx_log_level hx_log_threshold; /* set by hx_log_configure; hx_abort may log in another thread */

void hx_log_configure(enum hx_log_level threshold, int rank); /* rank -1: not known yet */
void hx_log_write(enum hx_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define hx_log(level, ...) ((level) <= hx_log_threshold ? hx_log_write(level, __VA_ARGS__) : (void)0)
#define hx_warn(...) hx_log(HX_LOG_WARN, __VA_ARGS__)
#define hx_info(...) hx_log(HX_LOG_INFO, __VA_ARGS__)
#define hx_debug(...) hx_log(HX_LOG_DEBUG, __VA_ARGS__)
