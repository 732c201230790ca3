/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are there as a whole or as they were before, whenever the program ends: written beside, then renamed. A symbolic
 * link stays, and leads to the new file, which has the mode of the old one. Anything but a regular file (a pipe, a device, "-"
 * for standard output) is written directly, so once only. */
#pragma once

#include "tools/common/options.h"
#include <limits.h>
#include <stdio.h>

struct whole_file {
    char path[PATH_MAX], beside[PATH_MAX];
    FILE *out;
    int error; /* an errno: what went wrong first; 0 */
};

/* Can it be written? Changes nothing. 0, or -1 with "--option=path: cannot write: ..." in error. */
int whole_file_check(const char *option, const char *path, char error[OPTION_TEXT_BYTES]);

/* Do both names lead to the same file, whether it is there yet or not? Not for "-". */
int whole_file_is_same(const char *a, const char *b);

/* May it be written again and again? */
int whole_file_is_regular(const char *path);

/* The stream, or NULL with errno. */
FILE *whole_file_open(struct whole_file *file, const char *path);

/* Much at once: of a part that does not get out a later flush would not know why. */
void whole_file_write(struct whole_file *file, const char *text, size_t bytes);

/* Write what has been printed so far. whole_file_end reports an error. */
void whole_file_flush(struct whole_file *file);

/* 0, or -1 with "--option=path: reason" in error, unless something is there already: it could not be written in full. After a
 * failed opening too. */
int whole_file_end(struct whole_file *file, const char *option, const char *path, char error[OPTION_TEXT_BYTES]);

/* The same of standard output, for: */
void standard_output_write(const char *text, size_t bytes);
void standard_output_flush(void);

/* Has all printed text gone out? 0, or -1 after "tool: standard output: reason" on standard error. If the only failure is that
 * no program reads any more, it prints nothing. */
int standard_output_check(const char *tool);
