#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The library's include rules, and what its code never does:
#
#   topo <- runtime <- intra, inter <- hier        (an arrow: may be included by)
#
# runtime/registry.c, the composition root, may include all. Only runtime/env.c reads the environment; nothing ends the
# process. Tools see the public header only, but for the plan, info and tune tools and coll_run's store. Checks itself on a
# tree of offenders first.
# Usage: layering.sh [root]
set -u
export LC_ALL=C
root=${1:-${top_srcdir:-$(dirname "$0")/..}}
cc=${CC:-cc}

may_include() { # file -> folders
    case $1 in
    runtime/registry.c) echo "topo runtime intra inter hier" ;;
    topo/*) echo "topo" ;;
    runtime/*) echo "runtime topo" ;;
    intra/*) echo "intra runtime topo" ;;
    inter/*) echo "inter runtime topo" ;;
    hier/*) echo "hier intra inter runtime topo" ;;
    tools/coll_plan* | tools/plan_* | tools/coll_info* | tools/info_* | tools/doctor* | tools/coll_tune* | tools/tune_*) echo "tools hier intra inter runtime topo" ;;
    tools/*) echo "tools" ;;
    esac
}

check_includes() { # file
    folder=${1%%/*}
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$1" | while read -r header; do
        # As the compiler looks: beside the file, from the top, in runtime/. The public header is the tools' own.
        if [ -e "$(dirname "$1")/$header" ]; then
            target=$(dirname "$1")/$header
        elif [ -e "$header" ]; then
            target=$header
        elif [ -e "runtime/$header" ]; then
            target=runtime/$header
        else
            echo "$1: includes \"$header\", which is nowhere"
            continue
        fi
        [ "$folder" = tools ] && [ "$target" = runtime/hierax.h ] && continue
        case $1=$target in
        tools/coll_run*=runtime/bootstrap_store.h) continue ;; # the launcher is the store's server
        tools/coll_run*=runtime/clock.h) continue ;;           # a clock that all deadlines go by
        tools/*=runtime/streams.h) continue ;; # before anything of the library's
        tools/*=topo/shape.h | tools/*=topo/cpu_model.h | tools/*=topo/cgroup.h) continue ;; # pure data
        esac
        case $target in
        */../*) echo "$1: includes \"$header\": write it from the top" ;;
        esac
        case " $(may_include "$1") " in
        *" ${target%%/*} "*) ;;
        *) echo "$1: includes \"$header\", but may include only: $(may_include "$1")" ;;
        esac
    done
}

# Code without comments and strings, with line numbers lost. CC may be several words, as "ccache gcc" is.
# shellcheck disable=SC2086
bare_code() { $cc -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null | sed 's/"\([^"\\]\|\\.\)*"/""/g'; }

check_calls() { # file
    code=$(bare_code "$1")
    called() {
        printf '%s\n' "$code" | grep -oE "(^|[^[:alnum:]_.>])($1)[[:space:]]*\(" | grep -oE "[[:alnum:]_]+" | sort -u
    }
    for name in $(called 'abort|exit|_exit|_Exit|quick_exit|assert'); do
        echo "$1: calls $name(): library code never ends the process"
    done
    [ "$1" = runtime/env.c ] && return
    for name in $(called 'getenv|secure_getenv|setenv|putenv'); do
        [ "$name" = setenv ] && [ "${1%%/*}" = inter ] && continue # libfabric's own, before it starts
        echo "$1: calls $name(): only runtime/env.c knows the environment"
    done
}

check_tree() { # root -> complaints
    (
        cd "$1" || exit
        for folder in topo runtime intra inter hier tools; do
            [ -d $folder ] || continue
            for file in $(find $folder -name '*.[ch]' | sort); do
                check_includes "$file"
                [ $folder = tools ] || check_calls "$file"
            done
        done
    )
}

# ---- the check itself: every line of the tree below that says BAD is found, and nothing else
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/topo" "$work/runtime" "$work/intra" "$work/inter" "$work/hier" "$work/tools"
cat >"$work/runtime/hierax.h" <<'END'
END
cp "$work/runtime/hierax.h" "$work/runtime/env.h"
cp "$work/runtime/hierax.h" "$work/topo/shape.h"
cp "$work/runtime/hierax.h" "$work/intra/segment.h"
cp "$work/runtime/hierax.h" "$work/inter/endpoint.h"
cp "$work/runtime/hierax.h" "$work/hier/plan.h"
bad() { printf '%s\n' "$2" >>"$work/$1"; printf '%s\n' "$1" >>"$work/expected"; }
good() { printf '%s\n' "$2" >>"$work/$1"; }
good runtime/registry.c '#include "hier/plan.h"'
good runtime/good.c '#include "env.h" /* calls abort() */'
good runtime/good.c '#include "topo/shape.h"'
good runtime/good.c 'static const char *s = "exit(1) getenv(\"A\")"; _Static_assert(1, ""); // assert(0)'
good runtime/good.c 'void f(struct b *b) { hx_boot_abort(b); b->abort(b); b->ops.exit(0); }'
good runtime/env.c 'char *g(void) { return getenv("HX_LOG"); }'
good hier/good.c '#include "intra/segment.h"'
good tools/coll_plan.c '#include "hier/plan.h"'
good tools/coll_run.c '#include "hierax.h"'
good runtime/bootstrap_store.h 'struct server;'
good tools/coll_run_job.c '#include "runtime/bootstrap_store.h"'
bad topo/a.c '#include "hierax.h"'
bad topo/b.h '#include "runtime/env.h"'
bad runtime/c.c '  #  include  "intra/segment.h"'
bad intra/d.c '#include "inter/endpoint.h"'
bad inter/e.c '#include "../intra/segment.h"'
bad inter/f.h '#include "hier/plan.h"'
bad hier/g.c '#include "tools/none.h"'
bad tools/h.c '#include "runtime/env.h"'
bad tools/coll_run_bind.c '#include "runtime/env.h"'
bad tools/coll_bench.c '#include "runtime/bootstrap_store.h"'
bad intra/i.c 'void f(void) { abort (); }'
bad hier/j.c 'void f(void) { if (1) exit(2); }'
bad topo/k.h 'static inline void f(int a) { assert(a); }'
bad runtime/l.c 'char *f(void) { return getenv("HOME"); }'
bad runtime/m.c 'void f(void) { setenv("A", "B", 1); }'
check_tree "$work" >"$work/complaints"
sed 's/:.*//' "$work/complaints" | sort -u >"$work/found"
sort "$work/expected" | diff - "$work/found" >"$work/difference" || {
    echo "layering.sh does not find what it should ('<' overlooked, '>' blamed wrongly):"
    cat "$work/difference" "$work/complaints"
    exit 1
}

# ---- the tree
check_tree "$root" >"$work/complaints"
cat "$work/complaints"
[ ! -s "$work/complaints" ]
