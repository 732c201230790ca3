#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom, and what library code never does.

Reads the tables below. A folder may include itself, `runtime` (the public header) and the folders of its row; these stand above it, so that
no circle can be. Includes are written from the top. Inside a folder of the library x.c and x.h include no file that includes them again, unless the folder's
README.md says that they include each other. Only base/env.c reads the environment; nothing in the library ends the process. Checks itself on a tree of offenders first.
Usage: layering.py [ROOT]"""
import os
import re
import sys

from planted import planted

ARROWS = """
topo:
runtime/base:
runtime/bootstrap:  runtime/base
runtime/plan:       runtime/base topo
runtime/ports:      runtime/base runtime/bootstrap runtime/plan topo
runtime/engine:     runtime/base runtime/plan runtime/ports
runtime/api:        runtime/base runtime/plan runtime/ports runtime/engine runtime/bootstrap topo
runtime/start:      runtime/base runtime/plan runtime/ports runtime/engine runtime/bootstrap runtime/api topo
intra/algorithms:   runtime/plan
inter/algorithms:   runtime/plan
intra/segment:      runtime/base runtime/bootstrap runtime/ports
inter/fabric:       runtime/base runtime/ports topo
hier/compose:       runtime/base runtime/plan runtime/ports intra/algorithms inter/algorithms
hier/cost:          runtime/base runtime/ports hier/compose intra/algorithms
hier/table:         runtime/base hier/compose hier/cost topo
hier:               runtime/base runtime/plan runtime/ports hier/compose hier/cost hier/table intra/algorithms inter/algorithms topo
tools/common:       runtime/base topo
tools/run:          tools/common runtime/base runtime/bootstrap topo
tools/store:        tools/common runtime/base runtime/bootstrap
tools/bench:        tools/common runtime/base
tools/plan:         tools/common runtime/base runtime/plan runtime/ports hier topo
tools/info:         tools/common runtime/base runtime/bootstrap runtime/plan runtime/api runtime/start inter/fabric hier topo
tools/tune:         tools/common runtime/base runtime/api hier hier/cost
"""

ENVIRONMENT = "runtime/base/env.c"
GENERATED = ("hier/compose/algorithms.inc", "hier/table/schema.inc")  # in the build folder
FOLDERS = ("topo", "runtime", "intra", "inter", "hier", "tools")


def rows(text):
    for line in text.strip().splitlines():
        name, _, words = line.partition(":")
        yield name.strip(), words.split()


def arrows_of(text):
    """The table; a row that names a folder below itself would allow a circle."""
    table = {}
    for folder, below in rows(text):
        for other in below:
            if other not in table:
                raise SystemExit(f"layering.py: the row of {folder} names {other}, which stands below it or nowhere")
        table[folder] = {folder, "runtime", *below}
    return table


def without_comments(code, strings=True):
    """The code with comments, and strings if asked, made empty."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: m[0] if m[0][0] in "\"'" and not strings else " ", code, flags=re.S)


def includes(root, file):
    with open(os.path.join(root, file), encoding="utf-8") as opened:
        code = opened.read()
    return code, re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]*)"', without_comments(code, strings=False), re.M)


def circles(root, path, names):
    """Sets of files of a folder, without what follows the dot, that include each other."""
    below = {}
    for name in names:
        if name.endswith((".c", ".h", ".def")):
            headers = includes(root, os.path.join(path, name))[1]
            stems = {os.path.basename(h).split(".")[0] for h in headers if os.path.dirname(h) == path}
            below.setdefault(name.split(".")[0], set()).update(stems - {name.split(".")[0]})
    for middle in below:  # transitive closure
        for stem in below:
            if middle in below[stem]:
                below[stem] |= below[middle]
    return {frozenset(other for other in below[stem] if stem in below.get(other, ())) for stem in below if stem in below[stem]}


def of_circles(root, path, names):
    readme, named = os.path.join(root, path, "README.md"), set()
    if os.path.exists(readme):
        with open(readme, encoding="utf-8") as opened:
            named = {frozenset(re.findall(r"`(\w+)`", line)) for line in re.findall(r"include each other: ([^.]*)", opened.read())}
    found = circles(root, path, names)
    for circle in sorted(map(sorted, found - named)):
        yield f"{path}: {', '.join(circle)} include each other, and README.md does not say so"
    for circle in sorted(map(sorted, named - found)):
        yield f"{path}: README.md says that {', '.join(circle)} include each other, but they do not"


def complaints(root, arrows):
    for folder in FOLDERS:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    file = os.path.relpath(os.path.join(path, name), root)
                    yield from of_file(root, file, arrows)
            if folder != "tools":
                yield from of_circles(root, os.path.relpath(path, root), names)


def of_file(root, file, arrows):
    folder = os.path.dirname(file)
    code, headers = includes(root, file)
    if folder not in arrows and file != "runtime/hierax.h":
        yield f"{file}: its folder is not in the table"
        return
    for header in headers:
        if ".." in header or not (header in GENERATED or os.path.exists(os.path.join(root, header))):
            yield f'{file}: includes "{header}", which is nowhere: write it from the top'
        elif os.path.dirname(header) not in arrows.get(folder, ()):
            yield f'{file}: includes "{header}", but may include only: {" ".join(sorted(arrows.get(folder, ())))}'
    if file.startswith("tools/") or file == "runtime/api/abort.c":  # hx_abort is there to end the process
        return
    called = set(re.findall(r"(?<![\w.>])(\w+)\s*\(", without_comments(code)))
    for name in sorted(called & {"abort", "exit", "_exit", "_Exit", "quick_exit", "assert"}):
        yield f"{file}: calls {name}(): library code never ends the process"
    for name in sorted(called & {"getenv", "secure_getenv", "setenv", "putenv"}):
        if file != ENVIRONMENT and not (name == "setenv" and file.startswith("inter/")):  # libfabric's own, before it starts
            yield f"{file}: calls {name}(): only {ENVIRONMENT} knows the environment"


def check_itself(arrows):
    """A tree in which every file named bad_* has one fault, and the others none."""
    tree = {
        "runtime/hierax.h": "",
        "topo/shape.h": "",
        "runtime/base/error.h": '#include "runtime/hierax.h"\n',
        "runtime/base/env.c": 'char *g(void) { return getenv("HX_LOG"); }',
        "runtime/plan/plan.h": "",
        "runtime/engine/engine.h": '#include "runtime/plan/plan.h"\n',
        "runtime/engine/good.c": '#include "runtime/base/error.h" /* calls abort() */\n'
        'static const char *s = "exit(1) getenv(\\"A\\")"; _Static_assert(1, ""); // assert(0)\n'
        "void f(struct b *b) { hx_boot_abort(b); b->abort(b); b->ops.exit(0); }",
        "runtime/api/comm.h": "",
        "inter/fabric/good.c": 'void f(void) { setenv("FI_X", "1", 0); }',
        "runtime/base/bad_a.c": '#include "runtime/plan/plan.h"\n',
        "runtime/plan/bad_b.h": '  #  include  "runtime/engine/engine.h"\n',
        "intra/algorithms/bad_c.c": '#include "runtime/base/error.h"\n',
        "inter/fabric/bad_d.c": '#include "../../runtime/base/error.h"\n',
        "runtime/engine/bad_e.c": '#include "engine.h"\n',
        "runtime/engine/bad_f.c": "void f(void) { abort (); }",
        "topo/bad_g.h": "static inline void f(int a) { assert(a); }",
        "runtime/api/bad_h.c": 'char *f(void) { return getenv("HOME"); }',
        "hier/bad_i.c": 'void f(void) { setenv("A", "B", 1); }',
        "tools/run/bad_j.c": '#include "runtime/engine/engine.h"\n',
        "runtime/other/bad_k.c": "",
        "topo/one.c": '#include "topo/two.h"\n',
        "topo/one.h": "",
        "topo/two.h": '#include "topo/one.h"\n',
        "topo/README.md": "These files include each other: `one`, `two`.",
        "inter/fabric/three.h": '#include "inter/fabric/four.h"\n',
        "inter/fabric/four.h": '#include "inter/fabric/five.h"\n',
        "inter/fabric/five.c": '#include "inter/fabric/three.h"\n',
        "inter/fabric/five.h": "",
        "runtime/plan/README.md": "These files include each other: `plan`, `bad_b`.",
    }
    with planted(tree) as root:
        found = [line.split(":")[0] for line in complaints(root, arrows)]
    wanted = sorted([file for file in tree if "/bad_" in file] + ["inter/fabric", "runtime/plan"])
    if sorted(found) != wanted:
        raise SystemExit(f"layering.py finds {sorted(found)}, not {wanted}")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("top_srcdir", os.path.join(os.path.dirname(__file__), ".."))
    arrows = arrows_of(ARROWS)
    check_itself(arrows)
    found = list(complaints(root, arrows))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
