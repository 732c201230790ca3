/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the tools' command lines that all share: values and names, and the message for a wrong one, which names the value,
 * the nearest good one and the choices. Nothing here prints or exits: a tool of many ranks must agree first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OPTION_TEXT_BYTES 2048

/* The index of text among the names, which end with NULL, or -1. */
int option_choose(const char *what, const char *text, const char *const *names, char error[OPTION_TEXT_BYTES]);

/* 0, or -1. Numbers may have a unit, as 64K or 64KiB (see size.h). */
int option_number(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value,
                  char error[OPTION_TEXT_BYTES]);

/* 0, or -1. zero: whether 0 will do. */
int option_real(const char *option, const char *text, int zero, double high, double *value,
                char error[OPTION_TEXT_BYTES]);

/* Add the number of a collective to a list, unless it is there. 0, or -1. It may be spelt otherwise too: all-reduce, AllReduce,
 * reduce-scatter, broadcast. */
int option_collective_add(const char *text, const char *const *names, int *list, int *n, char error[OPTION_TEXT_BYTES]);

/* The command line as a shell would take it. */
void option_command_line(int argc, char *const *argv, char text[OPTION_TEXT_BYTES]);

/* ---- a whole command line ---- */

/* The kind of an option's value, and the type of the field that it goes to. */
enum option_kind {
    OPTION_FLAG,     /* there is none; int: 1 */
    OPTION_COUNT,    /* uint64_t, from low to high; see option_number */
    OPTION_REAL,     /* double, from 0 to high */
    OPTION_POSITIVE, /* double, above 0 and up to high */
    OPTION_CHOICE,   /* int, the index of one of the choices */
    OPTION_TEXT,     /* const char * */
    OPTION_TAKE,     /* take knows what to do with it */
    OPTION_SAME      /* another name for the option before */
};

/* An option: a row of a table. In all functions options is the tool's struct, which has the fields. */
struct option_row {
    const char *name;
    int letter;             /* 0: none */
    const char *value;      /* its name in --help */
    const char *help;
    int group;              /* of --help; ascending */
    unsigned commands;      /* a bit for each command of the tool that takes it; 0: all do */
    /* the rest is one of the macros below */
    enum option_kind kind;
    size_t field;
    uint64_t low, high;
    const char *const *choices;
    int (*take)(void *options, const char *text, char error[OPTION_TEXT_BYTES]); /* 0, or -1 */
};

/* The end of a row. OPTIONS is the struct of the tool that uses it. */
#define IS_FLAG(member) OPTION_FLAG, offsetof(OPTIONS, member), 0, 0, NULL, NULL
#define IS_COUNT(member, low, high) OPTION_COUNT, offsetof(OPTIONS, member), low, high, NULL, NULL
#define IS_REAL(member, high) OPTION_REAL, offsetof(OPTIONS, member), 0, high, NULL, NULL
#define IS_POSITIVE(member, high) OPTION_POSITIVE, offsetof(OPTIONS, member), 0, high, NULL, NULL
#define IS_CHOICE(member, choices) OPTION_CHOICE, offsetof(OPTIONS, member), 0, 0, choices, NULL
#define IS_TEXT(member) OPTION_TEXT, offsetof(OPTIONS, member), 0, 0, NULL, NULL
#define IS_TAKEN(take) OPTION_TAKE, 0, 0, 0, NULL, take
#define IS_SAME OPTION_SAME, 0, 0, 0, NULL, NULL

/* A tool. --help and --version need no rows. */
struct option_tool {
    const char *words, *about;     /* as argp wants them: the words beside options, and the text of --help */
    const struct option_row *rows; /* at most 60, and one without a name */
    /* Take the first of words, which is not an option. The words end with NULL. Returns how many it took, or -1. */
    int (*word)(void *options, char **words, char error[OPTION_TEXT_BYTES]);
};

/* The request of a command line. WRONG: error says why. HELP and VERSION: later words were not looked at. */
enum option_end { OPTION_GO_ON, OPTION_WRONG, OPTION_HELP, OPTION_VERSION };

/* If an option is given several times, its last value counts: scripts append options to replace earlier ones. An option of kind TAKE may
 * collect its values. *used, unless it is NULL: a bit for each row that was given. */
enum option_end option_parse(const struct option_tool *tool, int argc, char **argv, void *options, uint64_t *used,
                             char error[OPTION_TEXT_BYTES]);

int option_is_given(const struct option_tool *tool, uint64_t used, const char *name);

/* The first option used that none of these commands takes, or NULL. */
const char *option_foreign(const struct option_tool *tool, uint64_t used, unsigned commands);

/* Print what HELP or VERSION asks for. The exit status: 1 if it could not be printed. */
int option_answer(const struct option_tool *tool, enum option_end end, const char *name, const char *version);
