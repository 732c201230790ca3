# SPDX-License-Identifier: BSD-3-Clause
# Man pages from the one place that says it: awk -f manpages.awk -v kind=tool|api|settings -v version=V [-v ...] FILE...
#   tool      what NAME --help prints                     -v name=coll_run
#   api       runtime/hierax.h, then the examples         -v dir=DIR: a page for each function, and pages for what they share
#   settings  what print_env prints, then counter.def
#   topic     tools/man/NAME.md: "# name - about", "## SECTION", paragraphs, items, tables, examples indented by four
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
    } else if ((mode == "option" || mode == "term") && line ~ /^          /) {
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

# ---- api: a comment, and the declarations that follow it. Each function has a page; hx_i<name> and hx_<name>_init stand on the
# page of hx_<name>. The rest is on the pages hierax_start, hierax_types and hierax_requests.
function comment_text(c,    parts, i, k, out) {
    gsub(/\/\*|\*\//, "", c)
    k = split(c, parts, "\n")
    for (i = 1; i <= k; i++) {
        if (i > 1)
            sub(/^ *\* ?/, "", parts[i])
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
function cut(line,    at, out) { # a declaration in lines of at most 72 columns
    while (length(line) > 72) {
        for (at = 72; at > 9 && substr(line, at - 1, 2) != ", "; at--)
            ;
        for (at = at > 9 ? at : 72; substr(line, at, 1) != " "; at--)
            ;
        out = out substr(line, 1, at - 1) "\n"
        line = "        " substr(line, at + 1)
    }
    return out line
}
function code(s) { return ".PP\n.nf\n\\fB" escape(s) "\\fR\n.fi\n" }
function members(    i, k, parts, at, line, out, notes, in_note, note, name) { # the lines of a type, then what each member means
    k = split(decl, parts, "\n")
    for (i = 1; i <= k; i++) {
        line = parts[i]
        if (in_note)
            note = note "\n" line
        else if (at = index(line, "/*")) {
            name = trim(substr(line, 1, at - 1))
            out = out cut(substr(line, 1, at - 1)) "\n"
            note = substr(line, at)
        } else
            out = out cut(line) "\n"
        in_note = note != "" && note !~ /\*\//
        if (note != "" && !in_note) {
            sub(/[,;]$/, "", name)
            notes = notes ".TP\n\\fB" escape(name) "\\fR\n" comment_text(note)
            note = ""
        }
    }
    sub(/\n$/, "", out)
    return (k > 1 || notes == "" ? code(out) : "") notes
}
function name_of(line) { return match(line, /hx_[a-z0-9_]*\(/) ? substr(line, RSTART, RLENGTH - 1) : "" }
function function_end(    fn, page, at, errors, about) {
    fn = page = name_of(decl)
    gsub(/\n */, " ", decl)
    sub(/HX_(PUBLIC|CALL) /, "", decl)
    sub(/ HX_NO_RETURN/, "", decl)
    sub(/^hx_i/, "hx_", page)
    if (!(page in synopsis))
        page = fn
    if (!(page in synopsis) && fn ~ /_init$/)
        sub(/_init$/, "", page)
    if (page in synopsis && page != fn) {
        printf ".so man3/%s.3\n", page > (dir "/" fn ".3")
        close(dir "/" fn ".3")
        forms[page] = forms[page] (forms[page] == "" ? "" : " and ") "\\fB" escape(fn) "\\fR"
    } else {
        order[++functions] = page = fn
        about = comment_text(comment)
        at = index(about, "\nErrors: ")
        errors = at ? substr(about, at + 9) : "None.\n"
        meaning[page] = at ? substr(about, 1, at) : about
        problems[page] = toupper(substr(errors, 1, 1)) substr(errors, 2)
        value[page] = decl ~ /^hx_status_t/ ? "HX_SUCCESS, or a status of ERRORS.\n.BR hx_error_detail (3)\ngives the text.\n" : \
            "As above. The function does not fail.\n"
    }
    synopsis[page] = synopsis[page] code(cut(decl))
}
function decl_end(    page) {
    page = comment ~ /calls that do not block/ ? "hierax_requests" : decl ~ /hx_(bootstrap|config)/ ? "hierax_start" : "hierax_types"
    if (section != "")
        pages["hierax_types"] = pages["hierax_types"] comment_text(section)
    section = ""
    if (comment ~ /----/) {
        pages[page] = pages[page] comment_text(comment)
        comment = ""
    }
    if (is_public)
        function_end()
    else {
        pages[page] = pages[page] members() (comment == "" ? "" : ".PP\n" comment_text(comment))
    }
    comment = decl = ""
}
function api_line(line) {
    if (line ~ /^typedef|^#define HX_(IN_PLACE|UNDEFINED|VERSION)|^HX_(PUBLIC|CALL) /) {
        is_public = line ~ /^HX_/
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
        if (line ~ /^ *$/ && comment != "") {
            section = comment ~ /----/ ? comment : ""
            comment = ""
        }
        return
    }
    if (decl ~ /^#define/ ? 1 : decl ~ /\{/ ? decl ~ /\n\}[^\n]*;/ : decl ~ /;/)
        decl_end()
}
function example_line(line,    k, i, names) {
    if (line ~ /^\/\* end \*\//)
        nshown = 0
    else if (line ~ /^\/\* hx_/) {
        nshown = split(line, shown, / +/) - 1
    } else
        for (i = 2; i <= nshown; i++)
            example_of[shown[i]] = example_of[shown[i]] line "\n"
}
function api_pages(    page, about, i, out, like, others) {
    about["hierax_start"] = "how to use Hierax: conventions, start-up"
    about["hierax_requests"] = "calls that do not block, and persistent calls"
    about["hierax_types"] = "status, element types, operations, and the program's own"
    like = "\n.BR hierax_start (3),\n.BR hierax_requests (3),\n.BR hierax_types (3),\n.BR hierax (7)"
    for (page in about) {
        out = dir "/" page ".3"
        printf "%s.SH SYNOPSIS\n#include <hierax.h>\n.PP\nLink with what \\fBpkg\\-config \\-\\-libs hierax\\fR prints.\n.SH DESCRIPTION\n%s", \
            head(page, 3, about[page]), page == "hierax_start" ? comment_text(introduction) : "" > out
        others = like
        sub("\n\\.BR " page " \\(3\\),", "", others)
        printf "%s.SH SEE ALSO%s\n", pages[page], others > out
        close(out)
    }
    for (i = 1; i <= functions; i++) {
        page = order[i]
        out = dir "/" page ".3"
        printf "%s.SH SYNOPSIS\n.nf\n#include <hierax.h>\n.fi\n%s", head(page, 3, about_of(meaning[page])), synopsis[page] > out
        printf ".SH DESCRIPTION\n%s", meaning[page] > out
        if (forms[page] != "")
            printf ".PP\n%s are the same call without waiting: see\n.BR hierax_requests (3).\n", forms[page] > out
        printf ".SH RETURN VALUE\n%s.SH ERRORS\n%s", value[page], problems[page] > out
        print ".PP\nSee\n.BR hierax_types (3)\nfor their meaning." > out
        sub(/\n$/, "", example_of[page])
        printf ".SH EXAMPLES\n.nf\n%s\n.fi\n.SH SEE ALSO%s\n", escape(example_of[page]), like > out
        close(out)
    }
}
function about_of(s) {
    gsub(/\n/, " ", s)
    sub(/[.:;] .*/, "", s)
    sub(/\.? *$/, "", s)
    return s ~ /^[A-Z][a-z]/ ? tolower(substr(s, 1, 1)) substr(s, 2) : s
}

# ---- settings: rows "| `HX_LOG` | choice | warn | error, ... | meaning |", then HX_COUNTER(member, "meaning")
function settings_line(line,    f, more) {
    if (line ~ /^\| `HX_/) {
        split(line, f, / \| |^\| | \|$/)
        gsub(/`/, "", f[2])
        settings = settings ".TP\n\\fB" escape(f[2]) "\\fR\n" text(f[6]) ".\n" text(f[3]) ": " text(f[5]) "; default: " text(f[4]) ".\n"
    } else if (line ~ /^HX_COUNTER/) { # a row may have several strings, which the compiler joins
        while (line !~ /"\)$/ && (getline more) > 0)
            line = line more
        gsub(/" *"/, "", line)
        split(line, f, /HX_COUNTER\(|, "|"\)$/)
        counters = counters ".TP\n\\fB" f[2] "\\fR\n" text(f[3]) ".\n"
    }
}
function settings_page() {
    printf "%s", head("hierax", 7, "settings and counters of Hierax, hierarchical collective operations")
    print ".SH DESCRIPTION\nSettings come from the environment, or from hx_config_t.settings, which take precedence (see"
    print ".BR hierax_start (3)).\nIf a name is unknown, Hierax warns and names the nearest one."
    print "If a value is bad, hx_init fails, and the error names the choices."
    print ".BR coll_info (1)\nprints all settings with their sources.\n.SH SETTINGS"
    printf "%s.SH COUNTERS\nWith HX_STATS=1 a job prints them at its end;\n.BR coll_info (1)\nprints those of its own job.\n%s", settings, counters
    print ".SH SEE ALSO\n.BR coll_run (1),\n.BR coll_bench (1),\n.BR coll_tune (1),\n.BR coll_plan (1),\n.BR coll_info (1),"
    print ".BR hierax\\-launch (7),\n.BR hierax\\-operations (7),\n.BR hierax\\-security (7),\n.BR hierax\\-tuning (7)," \
        "\n.BR coll_compare (1),\n.BR coll_report (1),\n.BR coll_trace (1),\n.BR coll_store (1),\n.BR hierax_start (3),\n.BR hierax_requests (3),\n.BR hierax_types (3)"
}

# ---- topic: Markdown. A row of a table becomes an item, which names each column
function inline(s) {
    s = text(s)
    gsub(/`[^`]*`/, "\\fB&\\fR", s)
    gsub(/`/, "", s)
    return s
}
function topic_line(line,    i, k, cell, row) {
    if (line ~ /^    / && !in_example++)
        print ".PP\n.nf"
    else if (line !~ /^    / && line != "" && in_example) {
        print ".fi"
        in_example = 0
    }
    if (in_example)
        print escape(substr(line, 5))
    else if (line ~ /^# /) {
        k = index(line, " - ")
        printf "%s", head(substr(line, 3, k - 3), 7, substr(line, k + 3))
    } else if (line ~ /^## /)
        print ".SH " substr(line, 4)
    else if (line ~ /^- /)
        print ".IP \\(bu 2\n" inline(substr(line, 3))
    else if (line ~ /^\|/) {
        k = split(line, cell, / *\| */)
        for (i = 2; i < k && !columns; i++)
            column[i] = cell[i]
        for (i = 3; i < k && columns && line !~ /^\|--/; i++)
            row = row (i > 3 ? "; " : "") column[i] ": " cell[i]
        if (row != "")
            print ".TP\n" column[2] ": \\fB" inline(cell[2]) "\\fR\n" inline(row)
        columns++
    } else if (line != "" && line !~ /^<!--/)
        print (after_blank ? ".PP\n" : "") inline(line)
    after_blank = line == ""
    if (line !~ /^\|/)
        columns = 0
}

kind == "topic" { topic_line($0) }
kind == "tool" { lines[++n] = $0 }
kind == "api" && FNR == NR { api_line($0) }
kind == "api" && FNR != NR { example_line($0) }
kind == "settings" { settings_line($0) }
END {
    if (kind == "topic")
        print ".SH SEE ALSO\n.BR hierax (7)"
    if (kind == "tool")
        tool_page()
    if (kind == "api")
        api_pages()
    if (kind == "settings")
        settings_page()
}
