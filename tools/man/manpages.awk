# SPDX-License-Identifier: BSD-3-Clause
# Man pages from the one place that says it: awk -f manpages.awk -v kind=tool|api|settings -v version=V [-v ...] FILE...
#   tool      what NAME --help prints                     -v name=coll_run
#   api       runtime/hierax.h                            -v dir=DIR: a page for each group, and a link for each function
#   settings  what print_env prints, then counter.def
# No dates and nothing of this machine: the same input gives the same page.

function escape(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); sub(/^['.]/, "\\\\\\&&", s); return s }
function text(s) { gsub(/\\/, "\\e", s); sub(/^['.]/, "\\\\\\&&", s); return s }
function head(page, section, about) {
    return ".\\\" generated, see tools/man/manpages.awk\n.TH " page " " section " \"\" \"Hierax " version "\" \"Hierax\"\n.SH NAME\n" \
        escape(page) " \\- " text(about) "\n"
}
function trim(s) { sub(/^ +/, "", s); sub(/ +$/, "", s); return s }
function first_sentence(s) { sub(/[.:;] .*/, "", s); sub(/[.:]$/, "", s); return tolower(substr(s, 1, 1)) substr(s, 2) }

# ---- tool: paragraphs; options; terms and examples, indented by two; what argp has wrapped goes on at the margin
function block_end() {
    if (mode == "example")
        print escape(example) "\n.fi"
    mode = ""
}
function tool_line(line,    at) {
    if (line ~ /^ *$/) {
        block_end()
        if (!blank++)
            print ".PP"
        return
    }
    blank = 0
    if (line ~ /^  ? ? ? ? ?-/ && !seen_notes) { # an option: its text is two spaces away, or on the next line
        block_end()
        if (!seen_options++)
            print ".SH OPTIONS"
        at = match(line, /[^ ]   *[^ ]/)
        print ".TP"
        print "\\fB" escape(trim(at ? substr(line, 1, at) : line)) "\\fR"
        if (at)
            print text(trim(substr(line, at + 1)))
        mode = "option"
    } else if (mode == "option" && line ~ /^          /) {
        print text(trim(line))
    } else {
        if (seen_options && !seen_notes++)
            print ".SH NOTES"
        if (line ~ /^  [^ ]/ && match(substr(line, 3), /[^ ]   *[^ ]/)) {
            block_end()
            print ".TP"
            print "\\fB" escape(trim(substr(line, 1, RSTART + 2))) "\\fR"
            print text(trim(substr(line, RSTART + 3)))
            mode = "term"
        } else if (line ~ /^  /) {
            print mode == "example" ? escape(example) : ".nf"
            example = line
            mode = "example"
        } else if (mode == "example") {
            example = example " " line
        } else
            print text(line)
    }
}
function tool_page(    i, synopsis, about, body) {
    for (i = 1; i <= n && (i == 1 || lines[i] ~ /^ /) && lines[i] !~ /^ *$/; i++)
        synopsis = synopsis (i > 1 ? "\n.br\n" : "") escape(trim(lines[i]))
    sub(/^[Uu]sage: /, "", synopsis)
    body = i
    while (lines[i] ~ /^ *$/ && i < n)
        i++
    for (; i <= n && lines[i] !~ /^ *$/ && lines[i] !~ /^  /; i++)
        about = about " " lines[i]
    printf "%s", head(name, 1, first_sentence(trim(about)))
    print ".SH SYNOPSIS\n" synopsis "\n.SH DESCRIPTION"
    blank = 1
    for (i = body; i <= n; i++)
        tool_line(lines[i])
    block_end()
    print ".SH SEE ALSO\n.BR hierax (7)"
}

# ---- api: a comment, and the declarations that follow it
function page_of(decl) {
    if (decl !~ /HX_PUBLIC/)
        return decl ~ /hx_(bootstrap|config)/ ? "hierax_start" : "hierax_types"
    if (decl ~ /hx_(init|init_with|finalize|rank|size|comm_[a-z]*|strerror|error_detail|version)\(/)
        return "hierax_start"
    if (decl ~ /hx_(op|dtype)_[a-z]*\(/)
        return "hierax_types"
    if (decl ~ /hx_(start|test|wait|waitall|request_free)\(/ || decl ~ /hx_i[a-z_]*\(/ || decl ~ /_init\(/)
        return "hierax_requests"
    return "hierax_collectives"
}
function comment_text(c,    parts, i, k, out) {
    gsub(/\/\*|\*\//, "", c)
    k = split(c, parts, "\n")
    for (i = 1; i <= k; i++) {
        sub(/^ ?\* ?/, "", parts[i])
        parts[i] = trim(parts[i])
        if (parts[i] ~ /^----/) {
            gsub(/-----*/, "", parts[i])
            out = out ".SS " text(trim(parts[i])) "\n"
        } else if (parts[i] ~ /^- /)
            out = out ".IP \\(bu 2\n" text(substr(parts[i], 3)) "\n"
        else if (parts[i] != "")
            out = out text(parts[i]) "\n"
        else if (i > 1 && i < k)
            out = out ".PP\n"
    }
    return out
}
function decl_end(    page, fn) {
    page = page_of(decl)
    pages[page] = pages[page] (comment == "" && last_page == page ? "" : ".PP\n")
    sub(/HX_PUBLIC /, "", decl)
    gsub(/\\/, "\\e", decl)
    gsub(/-/, "\\-", decl)
    pages[page] = pages[page] (comment ~ /----/ ? comment_text(comment) : "") ".PP\n.nf\n\\fB" decl "\\fR\n.fi\n"
    if (comment != "" && comment !~ /----/)
        pages[page] = pages[page] ".PP\n" comment_text(comment)
    if (is_public && match(decl, /hx_[a-z0-9_]*\(/)) {
        fn = substr(decl, RSTART, RLENGTH - 1)
        printf ".so man3/%s.3\n", page > (dir "/" fn ".3")
        close(dir "/" fn ".3")
        count[page]++
    }
    last_page = page
    comment = decl = ""
}
function api_line(line) {
    if (line ~ /^typedef|^#define HX_(IN_PLACE|UNDEFINED)|^HX_PUBLIC/) {
        is_public = line ~ /^HX_PUBLIC/
        decl = line
    } else if (decl != "")
        decl = decl "\n" line
    else if (line ~ /^\/\*/ || in_comment) {
        comment = in_comment ? comment "\n" line : line
        in_comment = line !~ /\*\//
        if (!in_comment && !introduced && comment ~ /Conventions/) {
            introduced = 1
            introduction = comment
            comment = ""
        }
        return
    } else {
        if (line ~ /^ *$/ && comment !~ /----/)
            comment = ""
        return
    }
    if (decl ~ /^#define/ ? 1 : decl ~ /\{/ ? decl ~ /\n\}[^\n]*;/ : decl ~ /;/)
        decl_end()
}
function api_pages(    page, about) {
    about["hierax_start"] = "start Hierax, communicators, and what went wrong"
    about["hierax_collectives"] = "the collectives"
    about["hierax_requests"] = "calls that do not block, and calls made ready"
    about["hierax_types"] = "status, element types, operations, and the program's own"
    for (page in about) {
        out = dir "/" page ".3"
        printf "%s.SH SYNOPSIS\n#include <hierax.h>\n.PP\nLink with what \\fBpkg\\-config \\-\\-libs hierax\\fR prints.\n.SH DESCRIPTION\n%s", \
            head(page, 3, about[page]), page == "hierax_start" ? comment_text(introduction) : "" > out
        printf "%s.SH SEE ALSO\n", pages[page] > out
        print ".BR hierax_start (3),\n.BR hierax_collectives (3),\n.BR hierax_requests (3),\n.BR hierax_types (3),\n.BR hierax (7)" > out
        close(out)
    }
}

# ---- settings: rows "| `HX_LOG` | choice | warn | error, ... | meaning |", then HX_COUNTER(member, "meaning")
function settings_line(line,    f) {
    if (line ~ /^\| `HX_/) {
        split(line, f, / \| |^\| | \|$/)
        gsub(/`/, "", f[2])
        settings = settings ".TP\n\\fB" escape(f[2]) "\\fR\n" text(f[6]) ".\n" text(f[3]) ": " text(f[5]) "; default: " text(f[4]) ".\n"
    } else if (match(line, /^HX_COUNTER\([a-z_]*, "/)) {
        counters = counters ".TP\n\\fB" substr(line, 12, RLENGTH - 14) "\\fR\n" text(substr(line, RLENGTH + 1, length(line) - RLENGTH - 2)) ".\n"
    }
}
function settings_page() {
    printf "%s", head("hierax", 7, "settings and counters of Hierax, hierarchical collective operations")
    print ".SH DESCRIPTION\nSettings come from the environment, or from hx_config_t.settings, which wins (see"
    print ".BR hierax_start (3)).\nAn unknown name warns and names the nearest one; a bad value is an error that names the choices."
    print ".BR coll_info (1)\ntells those in force and where each comes from.\n.SH SETTINGS"
    printf "%s.SH COUNTERS\nWith HX_STATS=1 a job tells them at its end;\n.BR coll_info (1)\ntells those of its own job.\n%s", settings, counters
    print ".SH SEE ALSO\n.BR coll_run (1),\n.BR coll_bench (1),\n.BR coll_tune (1),\n.BR coll_plan (1),\n.BR coll_info (1),"
    print ".BR coll_compare (1),\n.BR coll_report (1),\n.BR coll_trace (1),\n.BR hierax_start (3),\n.BR hierax_collectives (3),\n.BR hierax_requests (3),\n.BR hierax_types (3)"
}

kind == "tool" { lines[++n] = $0 }
kind == "api" { api_line($0) }
kind == "settings" { settings_line($0) }
END {
    if (kind == "tool")
        tool_page()
    if (kind == "api")
        api_pages()
    if (kind == "settings")
        settings_page()
}
