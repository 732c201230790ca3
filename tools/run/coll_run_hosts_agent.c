/* SPDX-License-Identifier: BSD-3-Clause */
/* The agents of --hosts (ssh): start one for each host, pass on what they say, and see how they end. */
#include "tools/run/coll_run_hosts.h"
#include "runtime/base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As in a shell: 'it'\''s'. */
static void quote(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            putc(*text, out);
    putc('\'', out);
}

/* coll_run at the same path as here or, if the host has none there, from the host's PATH. */
char *keeper_command(void)
{
    char self[PATH_MAX] = "", *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (!out)
        return NULL;
    if (n > 0) {
        fputs("test -x ", out);
        quote(out, self);
        fputs(" && exec ", out);
        quote(out, self);
        fputs(" " KEEPER_OPTION "; ", out);
    }
    fputs("exec coll_run " KEEPER_OPTION, out);
    return fclose(out) == 0 ? text : NULL;
}

__attribute__((noreturn)) static void agent_main(const struct front *front, const struct host *host, char *command, const int ends[3])
{
    char *words = strdup(front->job.options->agent), *argv[64], *save = NULL;
    int n = 0;

    setsid(); /* only coll_run gets the terminal's signals, and ssh cannot ask for a password on the terminal */
    for (char *word = strtok_r(words, " ", &save); word && n < 60; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    argv[n++] = (char *)(uintptr_t)host->name;
    argv[n++] = command;
    argv[n] = NULL;
    for (int i = 0; i < 3; i++)
        dup2(ends[i], i);
    signal(SIGPIPE, front->none.old_pipe);
    sigprocmask(SIG_SETMASK, &front->none.old_mask, NULL);
    execvp(argv[0], argv);
    fprintf(stderr, "cannot run the agent \"%s\": %m\n", argv[0]);
    _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* Do the ranks get this variable? Variables HX_*, except those that coll_run sets itself. */
static int goes_along(const char *variable)
{
    for (const char *const *own = coll_run_own_settings; *own; own++)
        if (!strncmp(variable, *own, strlen(*own)) && variable[strlen(*own)] == '=')
            return 0;
    return !strncmp(variable, "HX_", 3);
}

/* Send FRAME_JOB. coll_run_keeper.c describes and reads it. */
static int job_send(const struct front *front, struct host *host)
{
    const struct options *options = front->job.options;
    char folder[PATH_MAX], *text = NULL;
    size_t bytes;
    int settings = options->n_settings;
    FILE *out = open_memstream(&text, &bytes);

    if (!out || !getcwd(folder, sizeof folder))
        return -1;
    fprintf(out, "%s%c", HX_VERSION_TEXT, 0);
    fprintf(out, "%d%c%d%c%d%c%d%c%g%c%d%c", host->first, 0, host->n, 0, front->job.ranks, 0, (int)options->bind, 0, options->kill_after, 0,
            front->input_open, 0);
    fprintf(out, "%s%c%s%c%s%c%s%c", front->secret, 0, front->token, 0, options->root ? options->root : "", 0, folder, 0);
    for (char **at = environ; *at; at++)
        settings += goes_along(*at);
    fprintf(out, "%d%c", settings, 0);
    for (char **at = environ; *at; at++)
        if (goes_along(*at))
            fprintf(out, "%s%c", *at, 0);
    for (int i = 0; i < options->n_settings; i++)
        fprintf(out, "%s%c", options->settings[i], 0);
    for (char **word = options->program; *word; word++)
        fprintf(out, "%s%c", *word, 0);
    if (fclose(out) != 0)
        return -1;
    channel_send(&host->channel, FRAME_JOB, 0, text, bytes);
    free(text);
    return 0;
}

int agent_start(struct front *front, struct host *host, char *command)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        return -1;
    const int ends[3] = {in[0], out[1], err[1]};
    fflush(NULL);
    if ((host->agent = fork()) == 0)
        agent_main(front, host, command, ends);
    for (int i = 0; i < 3; i++)
        close(ends[i]);
    channel_open(&host->channel, out[0], in[1]);
    host->errors = err[0];
    fcntl(host->errors, F_SETFL, O_NONBLOCK);
    return host->agent < 0 ? -1 : job_send(front, host);
}

void errors_pass(struct host *host)
{
    char *newline;
    ssize_t n;

    while (host->errors >= 0 && (n = read(host->errors, host->line + host->line_bytes, sizeof host->line - 1 - host->line_bytes)) != 0) {
        if (n < 0)
            return;
        host->line_bytes += (size_t)n;
        host->line[host->line_bytes] = '\0';
        while ((newline = strpbrk(host->line, "\r\n")) || host->line_bytes == sizeof host->line - 1) {
            const size_t whole = newline ? (size_t)(newline - host->line) + 1 : host->line_bytes;
            const char *line = host->line;

            host->line[newline ? whole - 1 : whole] = '\0';
            line += !strncmp(line, "coll_run: ", 10) ? 10 : 0;
            if (*line)
                say("host %s: %s", host->name, line);
            memmove(host->line, host->line + whole, host->line_bytes - whole);
            host->line_bytes -= whole;
            host->line[host->line_bytes] = '\0';
        }
    }
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
}

void errors_end(struct host *host)
{
    errors_pass(host);
    if (host->line_bytes > 0)
        say("host %s: %s", host->name, host->line);
    if (host->errors >= 0)
        close(host->errors);
    host->errors = -1;
}

void agents_reap(struct front *front)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (int i = 0; i < front->n_hosts; i++)
            if (front->hosts[i].agent == pid) {
                front->hosts[i].agent = 0;
                front->hosts[i].status = status;
            }
}

void agents_kill(struct front *front)
{
    front->abandon_at = NEVER;
    front->job.given_up = 1;
    for (int i = 0; i < front->n_hosts; i++)
        if (front->hosts[i].agent > 0) {
            say("host %s: the agent \"%s %s\" does not end: killing it", front->hosts[i].name, front->job.options->agent,
                front->hosts[i].name);
            kill(-front->hosts[i].agent, SIGKILL);
        }
}
