#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plain English for users: no sentence has more than 25 words or a phrase of the table below.

Reads the comments of hierax.h, the texts of settings and counters, every text that goes to a function like printf (errors,
warnings, the doctor), the README files, and --help of every tool that is built and of its commands. Comments of other files may
have long sentences, but none of the phrases. Checks itself on planted offenders first.
Usage: english.py [ROOT]"""
import glob
import os
import re
import subprocess
import sys

from planted import planted

MOST_WORDS = 25

# A pattern, and what to write instead. Each was found where a reader had to read twice.
REFUSED = [(re.compile(pattern, re.I), instead) for pattern, instead in (
    (r"\b(is|are|was|were|be) had\b", "say who gets or allocates it"),
    (r"\b(told|hears?|heard)\b", "says, prints, reports, learns"),
    (r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|less\b)", "is not a ..., or say what is wrong with the value"),
    (r"\b(whom|whoever|nobody|somebody)\b", "name the rank, the process or the program"),
    (r"\bof which\b|\bas of\b|\bsuch that of\b", "two sentences"),
    (r"\bthat of which\b|\bthose of (others|whom)\b|\bof those that\b", "repeat the noun"),
    (r"\b(it|them|this|which|these) being\b", "a sentence with a verb"),
    (r"\b(is|are) to (be|do|have)\b", "must, or say who does it"),
    (r"\bgo(es)? by\b", "uses"),
    (r"\b(wh?ich|what) (is|are) not to\b", "must not"),
    (r"\bnor (do|does|is|are|has|have)\b", "not ... either, or a sentence of its own"),
    (r"^(what|whoever|who|whose|(?-i:Of)) (?!.*\?$)", "begin with the subject; a condition with if or when"),
    (r"^(where|whether) (?!.*\?$)", "if, when"),
    (r"\bwho waits? for who\b|\bwaits for one that\b", "name both"),
    (r"\bwill do for\b|\bdo(es)? without\b", "is accepted as; needs no"),
    (r"\b(has|have|had) come\b", "arrived"),
    (r"\bat hand\b", "say what was tested or measured"),
    (r"\bthe (latter|former)\b", "repeat the noun"),
    (r"\b(names|forces|takes|shows) (one|others)( by name)?\W*$", "repeat the noun"),
    (r"\bothers'", "the calls (or whatever they are) of the other ranks"),
    (r"\b(says?|said|asks?) (of|for) (itself|themselves)\b", "say what it returns or prints"),
    (r"\bmakes? of (it|them|this)\b", "uses"),
    (r"\bby (its|their|your) own means\b|\bof your own\b", "say which program or rank does it"),
    (r"\bcalls? moves?\b|\bmoves? (non-blocking |started )?calls?\b", "calls make progress"),
    (r"\b(number of|between) looks\b|\bcore away\b|\bgiven away\b", "polls; yields its core"),
    (r"\bnow and then\b", "from time to time"),
    (r"\banew\b", "again"),
    (r"\bgo(es|ing)? on without\b", "ignores the table, the entry"),
    (r"\bpass(es)? for\b", "pretends to be"),
    (r"\bwins? over\b", "takes precedence over"),
    (r"\blosers?\b", "name the plans, and say why they are slower"),
    (r"\b(it|they) came\b", "name the delay, the arrival"),
    (r"\bwhat stands\b|\bstands there\b", "what is there, by its name"),
    (r"\bso (must|has|have|is|are) (be|its|their|the)\b", "subject, verb, object"),
    (r"(\bexception: |; )where\b", "if, when, or a sentence of its own"),
)]


def sentences(text):
    """A text's sentences. Code in backquotes is one word, and so is a list of single words."""
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"\b(e\.g|i\.e|vs)\.", r"\1", text)
    text = re.sub(r"(?:[\w*-]+, ){2,}(?:(?:or|and) )?[\w*-]+", "list", text)
    for part in re.split(r"(?<!\.\.)(?<=[.!?])[)\"']*\s+", text):
        part = part.strip(" ()")
        if part:
            yield part


def faults(text, most_words=MOST_WORDS):
    for sentence in sentences(text):
        words = [word for word in sentence.split() if re.search(r"[A-Za-z]", word)]
        if len(words) > most_words:
            yield f"{len(words)} words: {sentence}"
        for pattern, instead in REFUSED:
            found = pattern.search(sentence)
            if found:
                yield f'"{found[0].strip()}" ({instead}): {sentence}'


# ---- texts of each kind of file: pairs of a line and a text
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')


def line_of(code, at):
    return code.count("\n", 0, at) + 1


def literal_groups(code):
    """String literals; those that the compiler joins are one (PRIu64 and the like between them too)."""
    group, end = [], 0
    for match in STRING.finditer(code):
        if group and re.fullmatch(r"(\s|PRI\w+)*", code[end:match.start()]):
            group[-1] += match[1]
        else:
            group.append(match[1])
        end = match.end()
    for text in group:
        yield re.sub(r'\\(["\\])', r"\1", text.replace("\\n", "\n"))


def without_comments(code):
    keep = lambda m: m[0] if m[0][0] in "\"'" else re.sub(r"[^\n]", " ", m[0])
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', keep, code, flags=re.S)


def arguments(code, start):
    """What stands between the parenthesis at start and its partner."""
    depth = 0
    for match in re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[()]').finditer(code, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return code[start:match.end()]
    return ""


def texts_of_calls(code, functions):
    code = without_comments(code)
    for match in re.finditer(r"\b(" + "|".join(functions) + r")\s*\(", code):
        for text in literal_groups(arguments(code, match.end() - 1)):
            for paragraph in text.split("\n"):
                yield line_of(code, match.start()), paragraph


def texts_of_rows(code):
    code = without_comments(code)
    for match in re.finditer(r"^HX_\w+\(", code, re.M):
        texts = list(literal_groups(arguments(code, match.end() - 1)))
        yield line_of(code, match.start()), texts[-1] if texts else ""


def texts_of_comments(code):
    for match in re.finditer(r"/\*(.*?)\*/", code, re.S):
        text = re.sub(r"^\s*\* ?", "", match[1], flags=re.M)
        for paragraph in re.split(r"\n\s*\n|\n *- |-----*", text):
            yield line_of(code, match.start()), paragraph


def texts_of_markdown(text):
    """Paragraphs, items and cells of tables; code is left out."""
    text = re.sub(r"^```.*?^```$", lambda m: re.sub(r"[^\n]", "", m[0]), text, flags=re.S | re.M)
    unit, start = [], 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        stop = re.match(r"\s*$|#|<!--|\||    |\s*([-*]|\d+\.) ", line)
        if stop:
            yield start, " ".join(unit)
            unit, start = [], number
        if line.startswith("|"):
            for cell in re.sub(r"`[^`]*`", "Code", line).split("|"):
                yield number, cell
        elif not re.match(r"    |#|<!--", line):
            unit.append(re.sub(r"^\s*([-*]|\d+\.) ", "", line))


def texts_of_help(text):
    """Paragraphs, options and terms of --help; examples, indented by two, are left out."""
    unit, start, example = [], 1, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        new = re.match(r"\s*$|\s*(usage|or): | {2,6}\S|\S.*:$", line, re.I)
        if new:
            yield start, " ".join(unit)
            unit, start, example = [], number, False
        term = re.match(r" {2,6}(\S.*?)(?: {2,}(\S.*))?$", line)
        if term and not term[1].startswith("-") and not term[2] or re.match(r"\s*(usage|or): ", line, re.I):
            example = True
        if not example:
            unit.append(term[2] or "" if term else line.strip())


def tools_of(root, build):
    for name in sorted(glob.glob(os.path.join(build, "tools", "coll_*")) + glob.glob(os.path.join(root, "tools", "coll_*"))):
        if os.path.isfile(name) and os.access(name, os.X_OK):
            yield name


def help_of(*command):
    environment = {"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0", "COLUMNS": "80"}
    return subprocess.run([*command, "--help"], env=environment, capture_output=True, timeout=60, check=False).stdout.decode()


def helps_of(tool):
    """--help of a tool, and of each of its commands that has a help of its own."""
    whole = help_of(tool)
    yield os.path.basename(tool), whole
    commands = re.findall(r"^  (\w+)  +\S", whole.partition("\n      --")[0], re.M)
    for command in commands if " COMMAND" in whole.partition("\n\n")[0] else []:
        text = help_of(tool, command)
        if text != whole:
            yield f"{os.path.basename(tool)} {command}", text


def format_functions(codes):
    """Functions whose declaration says that they take a format of printf; and those of C."""
    names = {"hx_warn", "hx_info", "hx_debug", "hx_log", "argp_error", "argp_failure", "fprintf", "printf", "puts"}
    for code in codes.values():
        for match in re.finditer(r"format\(printf", code):
            for part in (code[:match.start()].rpartition(";")[2].rpartition("}")[2], code[match.end():].partition(";")[0]):
                names.update(re.findall(r"\b(\w+)\((?=[^()]*\.\.\.\))", part))
    return sorted(names)


def texts(root):
    """All texts that users read: file, line, text."""
    codes = {}
    for folder in ("topo", "runtime", "intra", "inter", "hier", "tools", "bindings"):
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".md", ".py")):
                    file = os.path.join(path, name)
                    with open(file, encoding="utf-8") as opened:
                        codes[os.path.relpath(file, root)] = opened.read()
    for file in ("README.md", "runtime/HACKING.md"):
        if os.path.exists(os.path.join(root, file)):
            with open(os.path.join(root, file), encoding="utf-8") as opened:
                codes[file] = opened.read()
    functions = format_functions(codes)
    for file, code in sorted(codes.items()):
        if file.endswith((".c", ".h")):
            yield from ((file, *text) for text in texts_of_calls(code, functions))
        if file.endswith(("/env.def", "/counter.def")):
            yield from ((file, *text) for text in texts_of_rows(code))
        if file == "runtime/hierax.h":
            yield from ((file, *text) for text in texts_of_comments(code))
        if file.endswith(".md"):
            yield from ((file, *text) for text in texts_of_markdown(code))


def comments(root):
    """Comments of the code, in which a sentence may be long: file, line, text. HEARD is a space of plans, *heard an argument."""
    for folder in ("topo", "runtime", "intra", "inter", "hier", "tools", "bindings"):
        for file in sorted(glob.glob(os.path.join(root, folder, "**", "*.[ch]"), recursive=True)):
            if file.endswith("hierax.h"):
                continue
            with open(file, encoding="utf-8") as opened:
                for line, text in texts_of_comments(opened.read()):
                    yield os.path.relpath(file, root), line, re.sub(r"\bHEARD\b|\*heard\b", "Code", text)


def complaints(root, build):
    for file, line, text in comments(root):
        for fault in faults(text, 10**6):
            yield f"{file}:{line}: {fault}"
    for file, line, text in texts(root):
        for fault in faults(text):
            yield f"{file}:{line}: {fault}"
    for tool in tools_of(root, build):
        for name, shown in helps_of(tool):
            for line, text in texts_of_help(shown):
                for fault in faults(text):
                    yield f"{name} --help:{line}: {fault}"


def check_itself():
    """A tree in which each line with BAD has one fault, and the others none."""
    long = "word " * 26
    tree = {
        "README.md": f"Good prose with `{long}`.\n\n    {long}\n\n```\n{long}\n```\n\nBAD {long}.\n\n"
        "| cell | BAD: pages are had |\n| error, warn, info | good |\n- an item\n- BAD nobody waits for it\n",
        "runtime/hierax.h": f"/* Good. There is no limit.\n *  - BAD {long}\n */\nint x; /* " + "short. Short. " * 20 + "*/",
        "runtime/base/log.h": 'void say(int a, const char *format, ...) __attribute__((format(printf, 2, 3)));\n',
        "runtime/base/env.def": f'HX_ENV_INT("HX_A", a, "BAD is the {long}")\nHX_ENV_INT("HX_B", "{long}", "good")\n',
        "topo/a.c": f'/* {long} */ int f(void) {{ f("{long}"); say(1, "BAD: rank %d is " /* {long} */ "no rank", g(")")); '
        f'say(2, "good"); return hx_warn("{"a b c %s " * 6}" PRIu64 "BAD {"d " * 9}"); }}\n',
        "topo/b.h": "/* Good, " + "and good " * 30 + ". HEARD is a space. */\nint f(void); /* BAD: somebody waits */\n",
        "build/tools/coll_x": "#!/bin/sh\n[ \"$1\" = two ] && echo 'BAD: it is told.' || printf 'Usage: x COMMAND\nGood.\n\n  one  good\n  two  good\n'\n",
    }
    with planted(tree) as root:
        found = list(complaints(root, os.path.join(root, "build")))
    wanted = sum(code.count("BAD") for code in tree.values())
    help_text = (f"Usage: a\nGood.\n\n  term  BAD {long}\n  {long}\n      --option=X   BAD it is told\n                   more\n\n"
                 f"BAD\n{long}\n")
    found_help = [fault for _, text in texts_of_help(help_text) for fault in faults(text)]
    if len(found) != wanted or not all("BAD" in line for line in found) or len(found_help) != 3:
        raise SystemExit("english.py finds in its own offenders:\n" + "\n".join(found + found_help))


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), ".."))
    check_itself()
    found = list(complaints(root, os.environ.get("top_builddir", os.path.join(root, "build"))))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
