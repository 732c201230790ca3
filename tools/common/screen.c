/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines are folded on their way out:
 *
 *   allreduce FOLD   64 KiB FOLD    12.3 us FOLD  hier(nary,ring,nary)   ->   allreduce   64 KiB    12.3 us
 *                                                                                 hier(nary,ring,nary)
 *
 * A line is cut at its marks first, as late as possible. The rows of a table have columns of equal width, so they are cut alike. A
 * part that alone is too long is cut between words. The rest begins below the text after the last wide gap, as in a list of words and
 * their meanings:
 *
 *   ok    cores         2 cores for 2     ->   ok    cores         2 cores for
 *   ranks                                                          2 ranks
 *
 * The streams become ones of fopencookie, so everything that this process prints by stdio is folded, the library's lines too.
 */
#include "tools/common/screen.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDEST = 100, NARROWEST = 40, STEP = 4, GAP = 2 /* between the columns of a table */ };

struct screen {
    int fd, columns; /* columns INT_MAX: lines are as long as they are */
    char *line;      /* the beginning of a line that is not whole yet */
    size_t used_bytes;
};

static struct screen screens[2] = {{.fd = STDOUT_FILENO, .columns = INT_MAX}, {.fd = STDERR_FILENO, .columns = INT_MAX}};

/* ---- out */

/* All of it. 0, or -1 with errno. */
static int put(const struct screen *screen, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = write(screen->fd, text, bytes);
        if (n < 0 && errno != EINTR)
            return -1;
        text += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* ---- folding */

struct folded { /* a line, with its breaks so far */
    FILE *out;
    int column, columns;
    int blanks;        /* before the column, and not printed yet: none ends a line */
    const char *again; /* at the head of each line that goes on */
};

/* In UTF-8 only the first byte of a character takes a column. */
static int width_of(const char *text, int bytes)
{
    int width = 0;

    for (int i = 0; i < bytes; i++)
        width += (text[i] & 0xc0) != 0x80;
    return width;
}

static int blanks_at(const char *text, int bytes)
{
    int n = 0;

    while (n < bytes && text[n] == ' ')
        n++;
    return n;
}

static void add(struct folded *line, const char *text, int bytes)
{
    int seen = bytes;

    while (seen > 0 && text[seen - 1] == ' ')
        seen--;
    if (seen) {
        fprintf(line->out, "%*s", line->blanks, "");
        fwrite(text, 1, (size_t)seen, line->out);
        line->blanks = 0;
    }
    line->blanks += bytes - seen;
    line->column += width_of(text, bytes);
}

static void go_on(struct folded *line, int indent)
{
    line->column = indent;
    line->blanks = indent - (int)strlen(line->again);
    fprintf(line->out, "\n%s", line->again);
}

/* Add words. The first one begins at the present column. Later lines begin at hang, or below the text after the last wide gap. */
static void words_add(struct folded *line, const char *text, int bytes, int hang)
{
    const int least = hang;
    int gap = 0, word, piece;

    for (; bytes > 0; text += word, bytes -= word, gap = blanks_at(text, bytes), text += gap, bytes -= gap) {
        for (word = 0; word < bytes && text[word] != ' '; word++)
            ;
        if (gap > 1 && !*line->again && line->column + gap <= line->columns / 2)
            hang = line->column + gap;
        const int width = width_of(text, word);
        if (line->column + gap + width <= line->columns)
            add(line, text - gap, gap);
        else if (line->column > least)
            go_on(line, width > line->columns - hang ? least : hang);
        for (; width_of(text, word) > line->columns - line->column; text += piece, bytes -= piece, word -= piece) { /* a path, say */
            for (piece = word; width_of(text, piece) > line->columns - line->column;)
                piece--;
            add(line, text, piece);
            go_on(line, least);
        }
        add(line, text, word);
    }
}

/* One line, without its newline. */
static void line_fold(struct folded *line, const char *text, int bytes)
{
    const int indent = blanks_at(text, bytes), margin = indent < line->columns / 2 - STEP ? indent : 0;

    for (int part; bytes > 0; text += part, bytes -= part) {
        const char *mark = memchr(text, *FOLD, (size_t)bytes);
        const int whole = mark ? (int)(mark - text) : bytes;
        int seen = whole, cell = width_of(text, whole); /* bytes without the blanks at the end; width of the column in every row */

        part = whole + (mark != NULL);
        while (seen > 0 && text[seen - 1] == ' ')
            seen--;
        cell -= whole - seen < GAP ? whole - seen : GAP;
        const int first = line->column == 0;
        const int blanks = blanks_at(text, seen);
        const int here = !mark && line->column + blanks <= line->columns / 2; /* the last column: its words fit below each other */
        if (!first && !here && line->column + cell > line->columns)
            go_on(line, margin + STEP);
        if (line->column + cell <= line->columns) {
            add(line, text, whole);
            continue;
        }
        if (here)
            add(line, text, blanks);
        words_add(line, text + blanks, seen - blanks, *line->again ? (int)strlen(line->again) : first ? margin + STEP : line->column);
        if (mark) /* the next column begins in the next line */
            line->column = line->columns;
    }
}

/* All whole lines of text, which ends with one. 0, or -1 with errno. */
static int lines_put(const struct screen *screen, const char *text, size_t bytes)
{
    char *folded = NULL;
    size_t folded_bytes = 0;
    FILE *out = open_memstream(&folded, &folded_bytes);
    int status;

    for (const char *end; out && bytes > 0; bytes -= (size_t)(end + 1 - text), text = end + 1) {
        struct folded line = {.out = out, .columns = screen->columns, .again = text[0] == '#' && text[1] == ' ' ? "# " : ""};
        end = memchr(text, '\n', bytes);
        line_fold(&line, text, (int)(end - text));
        fputc('\n', out);
    }
    if (!out || fclose(out) != 0) {
        free(folded);
        errno = ENOMEM;
        return -1;
    }
    status = put(screen, folded, folded_bytes);
    free(folded);
    return status;
}

/* ---- the streams */

/* A line that has begun. */
static int rest_put(struct screen *screen)
{
    const size_t bytes = screen->used_bytes;

    screen->used_bytes = 0;
    return bytes ? put(screen, screen->line, bytes) : 0;
}

#define CLEAR "\r\033[K" /* in front of a line that shows progress, or of one that takes its place */

/* Lines go out when they are whole, progress at once. */
static ssize_t screen_write(void *cookie, const char *text, size_t bytes)
{
    struct screen *screen = cookie;
    const char *last = memrchr(text, '\n', bytes);
    size_t clear = bytes >= strlen(CLEAR) && !memcmp(text, CLEAR, strlen(CLEAR)) ? strlen(CLEAR) : 0, used = screen->used_bytes;
    char *line;

    clear = clear && !last ? bytes : clear;
    if (put(screen, text, clear) < 0 || !(line = realloc(screen->line, used + bytes)))
        return 0;
    screen->line = line;
    memcpy(line + used, text + clear, bytes - clear);
    used += bytes - clear;
    const size_t whole = last ? used - (size_t)(text + bytes - last - 1) : 0;
    const int status = lines_put(screen, line, whole);
    screen->used_bytes = used - whole;
    memmove(line, line + whole, used - whole);
    return status == 0 ? (ssize_t)bytes : 0;
}

static void rests_put(void)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        rest_put(&screens[i]);
}

/* COLUMNS holds, if it is set: coll_run sets it for ranks whose lines it passes on. */
static int columns_of(int fd)
{
    const char *text = getenv("COLUMNS");
    struct winsize size = {0};
    int columns = text ? atoi(text) : 0;

    if (columns <= 0 && !isatty(fd))
        return INT_MAX;
    if (columns <= 0 && (ioctl(fd, TIOCGWINSZ, &size) < 0 || (columns = size.ws_col) <= 0))
        columns = 80;
    return columns > WIDEST ? WIDEST : columns < NARROWEST ? NARROWEST : columns;
}

void screen_open(void)
{
    static const cookie_io_functions_t functions = {.write = screen_write};
    FILE **streams[2] = {&stdout, &stderr};

    for (int i = 0; i < 2; i++) {
        FILE *folded = fopencookie(&screens[i], "w", functions);
        if (!folded)
            continue;
        screens[i].columns = columns_of(screens[i].fd);
        setvbuf(folded, NULL, i == 1 ? _IONBF : isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
        *streams[i] = folded;
    }
    atexit(rests_put);
}

void screen_leave(void)
{
    fflush(stdout);
    screens[0].columns = INT_MAX;
}

int screen_columns(void)
{
    return screens[0].columns;
}
