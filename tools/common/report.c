/* SPDX-License-Identifier: BSD-3-Clause */
/* Talks to coll_report: see report.h. */
#include "tools/common/report.h"
#include "tools/common/json.h"
#include "tools/common/whole_file.h"
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS = 4 };
static const char *const names[OPTIONS] = {"html", "gnuplot", "svg", "picture"};

int report_wanted(const struct report_files *files)
{
    return files->html || files->gnuplot || files->svg || files->picture;
}

/* Beside the tool: where both are installed, or, above libtool's .libs, where both are built; else in PATH. */
static const char *program_find(char path[PATH_MAX])
{
    char own[PATH_MAX] = "";
    static const char *const places[] = {"", "/.."};

    if (readlink("/proc/self/exe", own, sizeof(own) - 1) > 0) {
        const char *folder = dirname(own);
        for (int i = 0; i < 2; i++)
            if (snprintf(path, PATH_MAX, "%s%s/coll_report", folder, places[i]) < PATH_MAX && access(path, X_OK) == 0)
                return path;
    }
    return "coll_report";
}

/* In a session of its own: what ends the tool's process group leaves it. Returns its process, or -1. */
static pid_t program_start(const struct report_files *files, int end)
{
    const char *const values[OPTIONS] = {files->html, files->gnuplot, files->svg, files->picture};
    char path[PATH_MAX], *args[OPTIONS + 3] = {strdup("coll_report"), strdup("--follow")};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid = -1;
    int n = 2;

    for (int i = 0; i < OPTIONS; i++)
        if (values[i] && asprintf(&args[n], "--%s=%s", names[i], values[i]) > 0)
            n++;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawnp(&pid, program_find(path), &actions, &attributes, args, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (n > 0)
        free(args[--n]);
    return pid;
}

/* Up to the end of a line, or of all. */
static void answer_read(int from, char text[OPTION_TEXT_BYTES])
{
    size_t n = 0;
    ssize_t got;

    while (n < OPTION_TEXT_BYTES - 1 && ((got = recv(from, text + n, 1, 0)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0 && text[n++] == '\n') {
            n--;
            break;
        }
    text[n] = '\0';
}

static void finish(struct report *r)
{
    close(r->to);
    r->to = -1;
    while (r->pid > 0 && waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* The document goes beside the file that will be missing. Returns 0, or -1 and error. */
static int kept_settle(struct report *r, const struct report_files *files, const char *tool, const char *lacking,
                       char error[OPTION_TEXT_BYTES])
{
    const char *values[OPTIONS] = {files->html, files->gnuplot, files->svg, files->picture};
    int i = 0;

    while (!values[i])
        i++;
    snprintf(r->what, sizeof(r->what), "--%s=%.1000s", names[i], values[i]);
    if (files->picture || !strcmp(values[i], "-") ||
        snprintf(r->kept, sizeof(r->kept), "%s.json", values[i]) >= (int)sizeof(r->kept)) {
        r->kept[0] = '\0';
        snprintf(error, OPTION_TEXT_BYTES, "%.1000s needs coll_report: %.200s; or use --json instead",
                 files->picture ? "a picture" : r->what, lacking);
        return -1;
    }
    if (whole_file_check(names[i], r->kept, error))
        return -1;
    fprintf(stderr, "%s: cannot write %s now: coll_report does not run here: %s. The numbers go to %s. "
                    "To make the report later, run: coll_report %s %s\n", tool, r->what, lacking, r->kept, r->kept, r->what);
    return 0;
}

int report_open(struct report *r, const struct report_files *files, const char *tool, char error[OPTION_TEXT_BYTES])
{
    char text[OPTION_TEXT_BYTES] = "";
    int ends[2];

    *r = (struct report){.to = -1};
    if (!report_wanted(files))
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        snprintf(error, OPTION_TEXT_BYTES, "no socket for coll_report: %s", strerror(errno));
        return -1;
    }
    r->to = ends[0];
    r->pid = program_start(files, ends[1]);
    close(ends[1]);
    if (r->pid > 0)
        answer_read(r->to, text);
    if (!strcmp(text, "ready"))
        return 0;
    finish(r);
    if (r->pid < 0)
        return kept_settle(r, files, tool, "it is neither beside this program nor in PATH", error);
    if (!text[0])
        return kept_settle(r, files, tool, "install python3, python3-matplotlib and python3-jinja2 (Debian's names)", error);
    if (!strncmp(text, "install ", 8))
        return kept_settle(r, files, tool, text, error);
    memcpy(error, text, OPTION_TEXT_BYTES);
    return -1;
}

/* A document is a line. If coll_report does not take it, its answer says why. */
static void document_send(int to, struct json_object *document)
{
    const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN);

    for (size_t left = strlen(text); left > 0;) {
        ssize_t sent = send(to, text, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return;
        text += sent > 0 ? sent : 0;
        left -= sent > 0 ? (size_t)sent : 0;
    }
    send(to, "\n", 1, MSG_NOSIGNAL);
}

void report_update(struct report *r, struct json_object *document)
{
    r->error[0] = '\0';
    if (r->to >= 0)
        document_send(r->to, document);
    else if (r->kept[0] && json_file_write("json", r->kept, document, r->error) == 0)
        snprintf(r->error, sizeof(r->error), "%.900s was not written; %.900s has the data for coll_report", r->what, r->kept);
}

int report_close(struct report *r, char error[OPTION_TEXT_BYTES])
{
    if (r->to >= 0) {
        shutdown(r->to, SHUT_WR);
        answer_read(r->to, r->error);
        finish(r);
    }
    if (r->error[0])
        memcpy(error, r->error, OPTION_TEXT_BYTES);
    return r->error[0] ? -1 : 0;
}
