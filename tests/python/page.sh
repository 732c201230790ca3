#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each example of hierax-python(7), pasted as it is, runs on one node and on two. So does the one of README.md. The page has every
# method, and each public name has a docstring.
. "$(dirname "$0")/common.sh"
cd "$tmp" || exit
# an example is indented, and begins with an import
awk '/^    (import|from) / && !inside { inside = 1; file = sprintf("example%02d.py", ++n) }
    /^[^ ]/ { inside = 0 }
    inside { sub(/^    /, ""); print >file }' "$top_srcdir/tools/man/hierax-python.7.md"
sed -n '/^```python$/,/^```$/{/^```/!p}' "$top_srcdir/README.md" >example_readme.py
echo 'assert (total == sum(range(comm.size))).all()' >>example_readme.py
examples=(example*.py)
[ ${#examples[@]} -ge 9 ] || fail "only ${#examples[@]} examples: ${examples[*]}"
cat >all.py <<'END'
# Each in a process would take long: they share one, and the world.
import sys
for name in sys.argv[1:]:
    exec(compile(open(name).read(), name, "exec"), {"__name__": "__main__"})
print(len(sys.argv) - 1)
END
for job in "2 1" "3 2,1"; do
    # shellcheck disable=SC2086
    job $job "$python" all.py "${examples[@]}" || { fail "examples on $job: exit $?"; tail -n 20 "$tmp/err" >&2; }
    has "$tmp/out" "${#examples[@]}" "examples on $job"
done
"$python" - "$top_srcdir" <<'END' || fail "the page or the docstrings are incomplete"
import ast, re, sys
import hierax
page = open(f"{sys.argv[1]}/tools/man/hierax-python.7.md").read()
methods = [name for name in dir(hierax.Comm) if not name.startswith("_")]
rows = re.findall(r"^ROW\((\w+), [A-Z]", open(f"{sys.argv[1]}/bindings/python/native/collectives.def").read(), re.M)
header = re.findall(r"^HX_CALL hx_status_t hx_i(\w+)\(", open(f"{sys.argv[1]}/runtime/hierax.h").read(), re.M)
header = [name for name in header if f"hx_{name}_init(" in open(f"{sys.argv[1]}/runtime/hierax.h").read()]
missing = [f"hierax.h has {name}" for name in set(header) - set(rows)]
missing += [f"the page has no {name}" for name in rows if not re.search(rf"\b{name}\b", page)]
missing += [f"no docstring: {name}" for name in methods if not getattr(hierax.Comm, name).__doc__]
missing += [f"no method: {form}" for name in rows for form in (name, f"i{name}", f"{name}_init") if form not in methods]
hints = {node.name: node for node in ast.parse(open(f"{sys.argv[1]}/bindings/python/hierax/__init__.pyi").read()).body
         if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
for kind in (hierax.Comm, hierax.Request):
    hinted = {getattr(node, "name", None) or node.target.id for node in hints[kind.__name__].body}
    missing += [f"no type hint: {kind.__name__}.{name}" for name in dir(kind) if not name.startswith("_") and name not in hinted]
typed = set(hints) | set(re.findall(r"^(\w+):", open(f"{sys.argv[1]}/bindings/python/hierax/__init__.pyi").read(), re.M))
missing += [f"no type hint: {name}" for name, value in vars(hierax).items() if not name.startswith("_") and name not in typed
            and not isinstance(value, type(sys))]
missing += [f"no docstring: {name}" for name in hints if name not in ("Bootstrap",) and not getattr(hierax, name).__doc__]
print("\n".join(missing))
sys.exit(bool(missing))
END
finish
