/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_run: start the ranks of a job on this machine or on several hosts, watch over them, and let them meet in a TCP store. Here:
 * options. */
#include "tools/run/coll_run.h"
#include "tools/common/options.h"
#include "tools/common/screen.h"
#include "runtime/base/streams.h"
#include "runtime/base/version.h"
#include "topo/shape.h"
#include "tools/common/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTIONS struct options
#define RANKS_MAX 16384
#define SECONDS_MAX 1000000000
#define RESTARTS 100

static const char *const bind_names[] = {"auto", "none", "core", NULL};

void say(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "coll_run: %s\n", text);
}

/* Remove an outer launcher's variables: if our ranks find such variables, a launcher that a rank has started has set them. */
static void forget_launchers(void)
{
    const char *fd = getenv("PMI_FD");
    char **kept = environ;

    if (fd && atoi(fd) > STDERR_FILENO)
        fcntl(atoi(fd), F_SETFD, FD_CLOEXEC);
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "PMI_", 4) != 0 && strncmp(*at, "PMIX_", 5) != 0)
            *kept++ = *at;
    *kept = NULL;
}

/* The ranks inherit it. */
static int setting_take(void *given, const char *text, char error[OPTION_TEXT_BYTES])
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text) {
        snprintf(error, OPTION_TEXT_BYTES, "--env %s: expected NAME=VALUE", text);
        return -1;
    }
    for (const char *const *own = coll_run_own_settings; *own; own++)
        if (strlen(*own) == (size_t)(equals - text) && strncmp(*own, text, strlen(*own)) == 0) {
            snprintf(error, OPTION_TEXT_BYTES, "--env %s: coll_run itself sets %s for every rank; leave it out", text, *own);
            return -1;
        }
    struct options *options = given;
    const char **more = realloc(options->settings, ((size_t)options->n_settings + 1) * sizeof *more);
    if (!more) {
        snprintf(error, OPTION_TEXT_BYTES, "no memory for --env %s", text);
        return -1;
    }
    options->settings = more;
    options->settings[options->n_settings++] = text;
    putenv((char *)(uintptr_t)text);
    return 0;
}

/* The program; what follows is its own. */
static int program_take(void *given, char **words, char error[OPTION_TEXT_BYTES])
{
    int n = 0;

    (void)error;
    ((struct options *)given)->program = words;
    while (words[n])
        n++;
    return n;
}

static const struct option_row option_rows[] = {
    {"ranks", 'n', "RANKS", "Number of ranks to start; may be written -np RANKS", 0, 0, IS_COUNT(ranks, 1, RANKS_MAX)},
    {"np", 0, NULL, NULL, 0, 0, IS_SAME},
    {"nodes", 0, "NODES", "Emulate nodes; ranks of different nodes use libfabric only (sets HX_NODES). NODES is a number of nodes, "
     "the ranks of each (3,1,2), or 8/2: 8 ranks in 2 domains", 0, 0, IS_TEXT(nodes)},
    {"hosts", 0, "HOSTS", "Start the ranks on these hosts, through ssh: a,b:4 is host a with 1 rank and host b with 4. With -n, hosts "
     "without a number share the remaining ranks evenly", 0, 0, IS_TEXT(hosts)},
    {"agent", 0, "COMMAND", "With --hosts: run COMMAND HOST SHELL-COMMAND to start the ranks of a host (default ssh)", 0, 0, IS_TEXT(agent)},
    {"root", 0, "ADDRESS", "With --hosts: the address of the first host, for the ranks of the other hosts (default: the first address that a "
     "host can reach)", 0, 0, IS_TEXT(root)},
    {"env", 0, "X=Y", "Set an environment variable for the ranks; may be repeated", 0, 0, IS_TAKEN(setting_take)},
    {"bind", 0, "MODE", "auto (default): bind each rank to its own core; if there are fewer cores than ranks, ranks share cores. "
     "core: as auto, but fail if there are fewer cores. none: do not bind", 0, 0, IS_CHOICE(bind, bind_names)},
    {"elastic", 0, NULL, "Start another process in place of one that fails, instead of ending the job. It gets HX_STORE, but no HX_RANK: it "
     "calls hx_join, and the others hx_comm_grow. The job ends well when its ranks have ended with status 0", 0, 0, IS_FLAG(elastic)},
    {"min", 0, "N", "With --elastic: end the job when fewer than N ranks are left (default 1)", 0, 0, IS_COUNT(min, 1, RANKS_MAX)},
    {"max", 0, "N", "With --elastic: start processes that join, so that N run in all (default RANKS)", 0, 0, IS_COUNT(max, 1, RANKS_MAX)},
    {"restarts", 0, "N", "With --elastic: start at most N processes in place of others (default 100)", 0, 0, IS_COUNT(restarts, 0, SECONDS_MAX)},
    {"prefix", 0, NULL, "Write \"[rank] \" before every line of output", 0, 0, IS_FLAG(prefix)},
    {"timeout", 0, "S", "End the job after S seconds, with exit status 124 (default 0: never)",
     0, 0, IS_REAL(timeout, SECONDS_MAX)},
    {"kill-after", 0, "S", "Time from SIGTERM to SIGKILL when coll_run ends a job, in seconds (default 2)",
     0, 0, IS_REAL(kill_after, SECONDS_MAX)},
    {0}};

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
int program_check(const char *program)
{
    const int is_path = strchr(program, '/') != NULL;
    const char *path = is_path ? "" : getenv("PATH");
    char candidate[PATH_MAX];
    int found = ENOENT;

    for (const char *at = path ? path : "/bin:/usr/bin"; found && at; at = strchr(at, ':')) {
        at += *at == ':';
        const int bytes = (int)strcspn(at, ":");

        snprintf(candidate, sizeof candidate, "%.*s%s%s", bytes, at, bytes ? "/" : "", program);
        const int error = program_error(candidate);
        if (!error || error == EACCES || is_path)
            found = error;
    }
    if (!found)
        return 0;
    say("cannot run program \"%s\": %s%s", program, strerror(found),
        is_path ? "" : " (searched in PATH; write ./program for one in this folder)");
    return found == ENOENT || found == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

/* Is something missing, or the shape of HX_NODES wrong, wherever it comes from? Returns the length of error. */
static int is_wrong(struct options *options, char error[OPTION_TEXT_BYTES])
{
    const char *nodes = options->nodes ? options->nodes : getenv("HX_NODES");
    char reason[HX_TOPO_ERROR_BYTES];
    struct hx_shape *shape;

    if (options->hosts && nodes && strspn(nodes, "0") != strlen(nodes))
        return snprintf(error, OPTION_TEXT_BYTES, "--nodes (or HX_NODES) emulates nodes on one machine: leave out this setting, or --hosts");
    if (!options->hosts && (options->agent || options->root))
        return snprintf(error, OPTION_TEXT_BYTES, "--%s needs --hosts", options->agent ? "agent" : "root");
    if (options->agent && options->agent[strspn(options->agent, " ")] == '\0')
        return snprintf(error, OPTION_TEXT_BYTES, "--agent is empty: expected a command, such as ssh");
    if (options->hosts && hosts_check(options, error, OPTION_TEXT_BYTES) < 0)
        return 1;
    if (options->hosts && options->elastic)
        return snprintf(error, OPTION_TEXT_BYTES, "--elastic starts processes of this machine: leave out --elastic, or --hosts");
    if (!options->elastic && (options->min || options->max || options->restarts != RESTARTS))
        return snprintf(error, OPTION_TEXT_BYTES, "--%s needs --elastic", options->min ? "min" : options->max ? "max" : "restarts");
    options->min = options->min ? options->min : 1;
    options->max = options->max ? options->max : options->ranks;
    if (options->elastic && (options->min > options->ranks || options->max < options->ranks))
        return snprintf(error, OPTION_TEXT_BYTES, "--min %d, -n %d, --max %d: expected ascending numbers", (int)options->min,
                        (int)options->ranks, (int)options->max);
    const int ranks = (int)options->ranks;
    if (!ranks)
        return snprintf(error, OPTION_TEXT_BYTES, "the number of ranks is missing: -n 1 to -n %d", RANKS_MAX);
    if (!options->program)
        return snprintf(error, OPTION_TEXT_BYTES, "the program to run is missing: coll_run -n %d -- program", ranks);
    if (!options->nodes && (!nodes || strspn(nodes, "0") == strlen(nodes))) /* off */
        return 0;
    if (!(shape = hx_shape_emulate(nodes, ranks, reason)))
        return snprintf(error, OPTION_TEXT_BYTES, "%s%s: %s", options->nodes ? "--nodes " : "HX_NODES=", nodes, reason);
    hx_shape_free(shape);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option_tool tool = {
        "[--] PROGRAM [ARGUMENT...]",
        "Start RANKS copies of PROGRAM on this machine, or on several hosts, as one Hierax job. If a rank fails, coll_run ends the "
        "others. The exit status is that of the first rank that failed, or 128 + the number of its signal.\v"
        "Each rank gets HX_ROOT, HX_RANK, HX_SIZE, HX_SECRET, HX_LAUNCHER and HX_BOOTSTRAP=auto; --env cannot set these. HX_SECRET is new for "
        "each job. If HX_STORE is set, it is that of coll_run (at most 64 characters), so that other processes can join (coll_store).",
        option_rows, program_take};
    char error[OPTION_TEXT_BYTES];
    struct options options = {.kill_after = 2, .restarts = RESTARTS};

    hx_streams_hold(0); /* for the ranks too */
    screen_open();
    forget_launchers();
    if (argc == 2 && !strcmp(argv[1], KEEPER_OPTION))
        return keeper_run();
    const enum option_end end = option_parse(&tool, argc, argv, &options, NULL, error);
    if (end >= OPTION_HELP)
        return option_answer(&tool, end, "coll_run", HX_VERSION_TEXT);
    if (end == OPTION_WRONG || is_wrong(&options, error)) {
        say("%s (see coll_run --help)", error);
        return EXIT_USAGE;
    }
    int status;
    if (options.hosts) {
        options.agent = options.agent ? options.agent : "ssh";
        status = hosts_run(&options);
    } else if ((status = program_check(options.program[0])) == 0) {
        status = job_run(&options);
    }
    free(options.settings);
    return status;
}
