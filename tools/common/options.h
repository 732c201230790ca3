/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tools' command lines share: values and names, and the message for a wrong one, which tells the value, the
 * nearest good one and the choices. Nothing here prints or exits: a tool of many ranks must agree first. */
#ifndef HX_TOOLS_COMMON_OPTIONS_H
#define HX_TOOLS_COMMON_OPTIONS_H
#include <argp.h>
#include <stdint.h>

#define OPTION_TEXT_BYTES 2048

/* The index of text among the names, which end with NULL, or -1. */
int option_choose(const char *what, const char *text, const char *const *names, char error[OPTION_TEXT_BYTES]);

/* The same of a collective, which may be spelt otherwise too: all-reduce, AllReduce, reduce-scatter, broadcast. */
int option_collective(const char *text, const char *const *names, char error[OPTION_TEXT_BYTES]);

/* 0, or -1. Numbers may have a suffix K, M or G (powers of 1024). */
int option_number(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  char error[OPTION_TEXT_BYTES]);

/* 0, or -1. zero: whether 0 will do. */
int option_real(const char *option, const char *text, int zero, double high, double *value,
                char error[OPTION_TEXT_BYTES]);

/* What is wrong with an argument that argp itself refuses: an unknown option, or one without its value. */
void option_refused(const struct argp_option *table, const struct argp_state *state, char error[OPTION_TEXT_BYTES]);

/* The command line as a shell would take it. */
void option_command_line(int argc, char *const *argv, char text[OPTION_TEXT_BYTES]);

#endif
