/* SPDX-License-Identifier: BSD-3-Clause */
/* The width of the screen: what a tool prints for people is folded to it. */
#pragma once

/* In a line that a tool prints: here a column of a table begins, and a narrow screen may go on with it in the next line. A head and
 * its rows have the marks at the same places. The mark itself is not printed. */
#define FOLD "\v"

/* From now on standard output and error are folded, if they are terminals or COLUMNS is set: to at most 100 columns. */
void screen_open(void);

/* Standard output is for programs from now on (JSON, CSV, a page): it is not folded. */
void screen_leave(void);

/* The columns of standard output; INT_MAX: any number. */
int screen_columns(void);
