/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run: start the ranks of a job on this machine, watch over them, and let them meet in a TCP store. Here:
 * options. */
#include "tools/run/coll_run.h"
#include "tools/common/options.h"
#include "runtime/base/streams.h"
#include "topo/shape.h"
#include "tools/common/whole_file.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RANKS_MAX 16384
#define SECONDS_MAX 1e9

enum { KEY_NODES = 256, KEY_ENV, KEY_BIND, KEY_PREFIX, KEY_TIMEOUT, KEY_KILL_AFTER, KEY_HELP, KEY_VERSION };

static const char *const bind_names[] = {"auto", "none", "core", NULL};

static const struct argp_option argp_options[] = {
    {"ranks", 'n', "RANKS", 0, "Number of ranks to start; may be written -np RANKS", 0},
    {"np", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"nodes", KEY_NODES, "NODES", 0,
     "Emulate nodes that talk only through libfabric (sets HX_NODES): a number of nodes, the ranks of each (3,1,2), or 8/2: 8 "
     "ranks in 2 domains",
     0},
    {"env", KEY_ENV, "X=Y", 0, "Set an environment variable for the ranks; may be repeated", 0},
    {"bind", KEY_BIND, "MODE", 0,
     "auto (default): bind each rank to its own core, or spread them over fewer cores; core: fail if there are fewer; none: do "
     "not bind",
     0},
    {"prefix", KEY_PREFIX, NULL, 0, "Write \"[rank] \" before every line of output", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "End the job after S seconds, with exit status 124 (default 0: never)", 0},
    {"kill-after", KEY_KILL_AFTER, "S", 0, "Seconds from SIGTERM to SIGKILL when a job is ended (default 2)", 0},
    {"help", KEY_HELP, NULL, 0, "Show this text", -1},
    {"version", KEY_VERSION, NULL, 0, "Show the version", -1},
    {0},
};

void say(const char *format, ...)
{
    char text[2048];
    va_list args;
    const int error = errno; /* for %m */

    va_start(args, format);
    errno = error;
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "coll_run: %s\n", text);
}

/* Not on our command line: the end, before anything is started. */
__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
    char text[OPTION_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say("%s (see coll_run --help)", text);
    exit(EXIT_USAGE);
}

static int parse_int(const char *option, const char *text)
{
    char error[OPTION_TEXT_BYTES];
    uint64_t value;

    if (option_number(option, text, 1, RANKS_MAX, &value, error) < 0)
        refuse("%s", error);
    return (int)value;
}

static double parse_seconds(const char *option, const char *text)
{
    char error[OPTION_TEXT_BYTES];
    double value;

    if (option_real(option, text, 1, SECONDS_MAX, &value, error) < 0)
        refuse("%s", error);
    return value;
}

static enum bind_mode parse_bind(const char *text)
{
    char error[OPTION_TEXT_BYTES];
    const int chosen = option_choose("--bind mode", text, bind_names, error);

    if (chosen < 0)
        refuse("%s", error);
    return (enum bind_mode)chosen;
}

static void add_setting(struct options *options, char *text)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text)
        refuse("--env %s: NAME=VALUE is needed", text);
    for (const char *const *own = coll_run_own_settings; *own; own++)
        if (strlen(*own) == (size_t)(equals - text) && strncmp(*own, text, strlen(*own)) == 0)
            refuse("--env %s: coll_run itself sets %s for every rank; leave it out", text, *own);
    options->settings[options->nsettings++] = text;
}

/* As the ranks will see it, or NULL. */
static const char *setting_of(const struct options *options, const char *name)
{
    const size_t bytes = strlen(name);
    const char *value = getenv(name);

    for (int i = 0; i < options->nsettings; i++)
        if (strncmp(options->settings[i], name, bytes) == 0 && options->settings[i][bytes] == '=')
            value = options->settings[i] + bytes + 1;
    return value;
}

/* HX_NODES as the ranks will see it must fit, wherever it comes from. */
static void check_nodes(const struct options *options)
{
    const char *text = setting_of(options, "HX_NODES"), *given = options->nodes ? "--nodes " : "HX_NODES=";
    char error[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape;

    if (options->nodes)
        text = options->nodes;
    else if (!text || !*text || strspn(text, "0") == strlen(text)) /* off */
        return;
    if (!(shape = hx_shape_emulate(text, options->ranks, error)))
        refuse("%s%s: %s", given, text, error);
    hx_shape_free(shape);
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct options *options = state->input;
    char error[OPTION_TEXT_BYTES];

    switch (key) {
    case 'n':
        if (!strcmp(text, "p") && state->next < state->argc) /* -np 4, as mpirun has it */
            text = state->argv[state->next++];
        options->ranks = parse_int("ranks", text);
        break;
    case KEY_NODES:
        options->nodes = text;
        break;
    case KEY_ENV:
        add_setting(options, text);
        break;
    case KEY_BIND:
        options->bind = parse_bind(text);
        break;
    case KEY_PREFIX:
        options->prefix = 1;
        break;
    case KEY_TIMEOUT:
        options->timeout = parse_seconds("timeout", text);
        break;
    case KEY_KILL_AFTER:
        options->kill_after = parse_seconds("kill-after", text);
        break;
    case KEY_HELP:
        argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP, (char *)"coll_run");
        exit(standard_output_check("coll_run") ? 1 : 0);
    case KEY_VERSION:
        printf("coll_run " PACKAGE_VERSION "\n");
        exit(standard_output_check("coll_run") ? 1 : 0);
    case ARGP_KEY_ARG: /* the program; what follows is its own */
        options->program = state->argv + state->next - 1;
        state->next = state->argc;
        break;
    case ARGP_KEY_END:
        if (!options->ranks)
            refuse("the number of ranks is missing: -n 1 to -n %d", RANKS_MAX);
        if (!options->program)
            refuse("the program to run is missing: coll_run -n %d -- program", options->ranks);
        check_nodes(options);
        break;
    case ARGP_KEY_ERROR:
        option_refused(argp_options, state, error);
        refuse("%s", error);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* 0, or the error that running path would give. */
static int program_error(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno;
    if (S_ISDIR(info.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* Fail before anything is started: 0, or the exit status. Searches as execvp does. */
static int check_program(const struct options *options)
{
    const char *program = options->program[0], *path = setting_of(options, "PATH");
    char candidate[PATH_MAX];
    int found = ENOENT;

    if (strchr(program, '/')) {
        found = program_error(program);
    } else {
        for (const char *at = path ? path : "/bin:/usr/bin"; found && at; at = strchr(at, ':')) {
            at += *at == ':';
            const int bytes = (int)strcspn(at, ":");

            snprintf(candidate, sizeof candidate, "%.*s%s%s", bytes, at, bytes ? "/" : "", program);
            const int error = program_error(candidate);
            if (!error || error == EACCES)
                found = error;
        }
    }
    if (!found)
        return 0;
    say("cannot run program \"%s\": %s%s", program, strerror(found),
        strchr(program, '/') ? "" : " (searched in PATH; write ./program for one in this folder)");
    return found == ENOENT || found == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {argp_options,
                                     parse_option,
                                     "[--] PROGRAM [ARGUMENT...]",
                                     "Start RANKS copies of PROGRAM on this machine as one Hierax job. If a rank fails, coll_run "
                                     "ends the others. The exit status is that of the first rank that failed, or 128 + its "
                                     "signal.\v"
                                     "Each rank gets HX_ROOT, HX_RANK, HX_SIZE, HX_SECRET, HX_LAUNCHER and HX_BOOTSTRAP=auto; --env cannot set these.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct options options = {.kill_after = 2};

    hx_streams_hold(0); /* for the ranks too */
    options.settings = calloc((size_t)argc, sizeof *options.settings);
    if (!options.settings) {
        say("no memory");
        return 1;
    }
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &options);
    int status = check_program(&options);
    if (!status)
        status = job_run(&options);
    free(options.settings);
    return status;
}
