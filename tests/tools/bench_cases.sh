# SPDX-License-Identifier: BSD-3-Clause
# Cases for coll_bench over any library, sourced by bench_*.sh, which set:
#   bench      the program
#   launch N   a function that starts N ranks of the command that follows
#   preload    how to preload $tmp/broken.so into the ranks of a launch (a prefix of the command)
#   broken_c   C source of a library whose all-reduce ends with BREAK(the call)
failures=0
tmp=$(mktemp -d)
export TMPDIR=$tmp # launchers of Open MPI that start at the same time fail in a common folder
trap 'rm -rf "$tmp"' EXIT

fail() { echo "FAIL: $*" >&2; failures=$((failures + 1)); }

# passes N OPTION...: runs with --check and finds nothing
passes() {
    local n=$1
    shift
    launch "$n" "$bench" "$@" --check --repetitions 3 --iterations 2 >"$tmp/out" 2>&1 ||
        { fail "-n $n $*: exit $?"; tail -n 5 "$tmp/out" >&2; }
}

# refuses TEXT OPTION...: exit 2, and rank 0 alone says so, in one line with TEXT
refuses() {
    local text=$1 status=0
    shift
    launch 2 "$bench" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ "$status" = 2 ] || fail "$*: exit $status, expected 2"
    [ "$(grep -c "^coll_bench[a-z_]*: " "$tmp/err")" = 1 ] ||
        { fail "$*: not exactly one message"; cat "$tmp/err" >&2; }
    grep -qF -- "$text" "$tmp/err" || { fail "$*: no \"$text\""; cat "$tmp/err" >&2; }
}

case_check_passes() {
    local n dtype op
    # shellcheck disable=SC2046
    for n in 1 2 3; do
        passes $n $(sed -n 's/^HX_COLL[A-Z_]*([A-Z_]*, \([a-z_]*\),.*/\1/p' "$top_srcdir/runtime/base/coll.def") --max 64K --factor 16
        passes $n bcast reduce gather scatter gatherv scatterv --max 64K --factor 64 --root $((n - 1)) --in-place
        passes $n allreduce reduce_scatter_block allgather scan exscan alltoall reduce_scatter allgatherv alltoallv \
            --max 20000 --factor 50 --in-place
    done
    for dtype in $dtypes; do
        passes 2 allreduce allgather --dtype $dtype --max 4K --factor 16
    done
    for op in $int_ops; do
        passes 3 allreduce reduce_scatter_block scan exscan --dtype int32 --op $op --max 4K --factor 16
    done
    for op in $float_ops; do
        passes 3 allreduce reduce_scatter_block --dtype float64 --op $op --max 4K --factor 16
    done
    passes 2 allreduce allgather --min 0 --max 1
}

# A check that finds nothing proves nothing unless it also finds a fault.
case_check_finds_a_fault() {
    # as $BROKEN says, a large all-reduce changes an element of its result or of its input, or does nothing from the sixth call on
    cat >"$tmp/broken.c" - <(echo "$broken_c") <<'END'
#include <stdlib.h>
#include <string.h>
#define IS(how) (n > 1000 && !strcmp(getenv("BROKEN"), how))
#define BREAK(call) do { \
        static int calls; \
        int status = IS("idle") && calls++ >= 5 ? 0 : (call); \
        if (IS("result") || IS("input")) \
            ((float *)(IS("result") ? out : (void *)in))[11] += 1; \
        return status; \
    } while (0)
END
    # shellcheck disable=SC2086
    ${CC:-cc} $broken_flags -D_GNU_SOURCE -fPIC -shared -o "$tmp/broken.so" "$tmp/broken.c" -ldl || fail "compile"
    finds result 'rank [01], element 11 of [0-9]+: got .*, expected '
    finds result 'rank [01], element 11 of [0-9]+: got .*, expected ' --warm
    finds input 'rank [01]: the calls changed element 11 of 16384 of the input' --warm
    finds idle 'rank [01], element 0 of 16384: got 0, expected ' --ahead
}

# finds BROKEN TEXT OPTION...: exit 1, and the text
finds() {
    local status=0 broken=$1 text=$2
    shift 2
    BROKEN=$broken launch 2 $preload "$bench" allreduce --min 64K --max 64K --check "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    [ "$status" = 1 ] || fail "$broken, all-reduce $*: exit $status, expected 1"
    grep -Eq "$text" "$tmp/err" || { fail "$broken, all-reduce $*: no rank and element named"; cat "$tmp/err" >&2; }
}

case_loops() {
    local n loop
    for loop in warm ahead; do
        # shellcheck disable=SC2046
        for n in 1 3; do
            passes $n $(sed -n 's/^HX_COLL[A-Z_]*([A-Z_]*, \([a-z_]*\),.*/\1/p' "$top_srcdir/runtime/base/coll.def") --max 64K --factor 64 --$loop
        done
        passes 3 allgather bcast gather scatter allgatherv gatherv scatterv --max 64K --factor 64 --root 2 --in-place --$loop
    done
    launch 2 "$bench" allreduce bcast --min 8 --max 64K --factor 8192 --ahead --json "$tmp/j" --csv "$tmp/c" >"$tmp/out" || fail "--ahead: exit $?"
    grep -q '^# .*   loop ahead$' "$tmp/out" && grep -q '"loop": *"ahead"' "$tmp/j" &&
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            NR > 1 { print $at["loop"], $at["pairs"], $at["iterations"] }' "$tmp/c" | sort | uniq -c | tr -s ' ' | tr '\n' ';' |
        grep -qx ' 2 ahead 1 100; 2 ahead 1 15;' || { fail "the loop, its one pair of buffers or its calls are not told"; cat "$tmp/out" "$tmp/c" >&2; }
    refuses '--warm and --ahead exclude each other' allreduce --warm --ahead
    refuses '--warm gives every call the same input, but allreduce overwrites it with --in-place' allgather allreduce --warm --in-place
}

case_bad_input() {
    refuses 'unknown collective "allreduec" (did you mean allreduce?)' allreduec
    refuses 'choices: allreduce reduce_scatter_block allgather bcast'
    refuses '--root=2 is out of range: the last rank of this job is 1' bcast --root 2
    refuses 'did you mean float32?' allreduce --dtype flaot32
    refuses 'unknown op "frobnicate"; choices: sum prod' allreduce --op frobnicate
    refuses '--min=8Q' allreduce --min 8Q
    refuses '--min=-8' allreduce --min=-8
    refuses '--max=99999999999999999999' allreduce --max 99999999999999999999
    refuses '--min=64 B is above --max=8 B' allreduce --min 64 --max 8
    refuses '--factor=1' allreduce --factor 1
    refuses '--sizes=x: expected a number of bytes' allreduce --sizes 8,x
    refuses '--sizes and --max both say what to measure' allreduce --sizes 8 --max 8
    refuses 'did you mean repetitions?' allreduce --repetitons 3
    refuses 'needs a value' allreduce --csv
    refuses 'unknown option "x"; choices: min max' allreduce -x
    refuses '--json=/no/such/folder/x: cannot write: No such file or directory' allreduce --json /no/such/folder/x
    refuses '--csv=/no/such/folder/x: cannot write' allreduce --csv /no/such/folder/x
    refuses "--csv=$tmp: cannot write: Is a directory" allreduce --csv "$tmp"
    refuses '--json and --csv both write to' allreduce --csv - --json -
    refuses '--json and --csv both write to' allreduce --csv "$tmp/x" --json "$tmp/./x"
    refuses '--json and --html both write to' allreduce --html "$tmp/x" --json "$tmp/x"
    refuses '--html=/no/such/folder/x: cannot write: No such file or directory' allreduce --html /no/such/folder/x
    refuses "--html=$tmp: cannot write: Is a directory" allreduce --html "$tmp"
    refuses '--gnuplot=/no/such/folder/x.dat: cannot write' allreduce --gnuplot /no/such/folder/x
    refuses '--svg=/no/such/folder/x-plot.svg: cannot write' allreduce --svg /no/such/folder/x
    refuses '--gnuplot=: expected the prefix of the files to write' allreduce --gnuplot ''
    refuses '--svg=: expected the prefix of the files to write' allreduce --svg ''
    refuses '--svg=-: expected the prefix of the files to write' allreduce --svg -
    refuses '--op=band is not defined for --dtype=float32' allreduce --op band
    refuses '--max: allreduce of 1024 GiB takes 8192.0 GiB for buffers of all ranks (2)' allreduce --min 1024G --max 1024G
    refuses '--max: gather of 1024 GiB takes 5120.0 GiB for buffers of all ranks (2)' gather --min 1024G --max 1024G --in-place --root 1
}

# The three forms of output hold the same lines.
case_outputs() {
    launch 2 "$bench" allreduce allgather --max 64 --json "$tmp/j" --csv "$tmp/c" >"$tmp/out" || fail "outputs: exit $?"
    local shown csv json
    shown=$(grep -cE '^(allreduce|allgather) ' "$tmp/out")
    csv=$(($(wc -l <"$tmp/c") - 1))
    json=$(grep -c '"median_us"' "$tmp/j")
    [ "$shown $csv $json" = "8 8 8" ] || fail "rows in table, CSV, JSON: $shown $csv $json, expected 8 each"
    # every line of the CSV has as many fields as its head (no field here holds a comma)
    awk -F, 'NR == 1 { n = NF } NF != n { bad = 1 } END { exit bad }' "$tmp/c" || fail "CSV: fields unlike the head"
    if command -v python3 >/dev/null && python3 -c 'import json' 2>/dev/null; then
        python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
assert j["ranks"] == 2 and len(j["rows"]) == 8, j
assert all(0 < r["min_us"] <= r["median_us"] <= r["p99_us"] for r in j["rows"]), j' "$tmp/j" || fail "JSON"
    fi
    launch 2 "$bench" allgather --sizes 4K,8,64,8 --csv - | sed -n 's/.*,allgather,\([0-9]*\),.*/\1/p' | tr '\n' ' ' >"$tmp/out" || fail "--sizes: exit $?"
    [ "$(cat "$tmp/out")" = "8 64 4096 " ] || fail "--sizes: $(cat "$tmp/out")"
    launch 2 "$bench" barrier --csv - >"$tmp/out" || fail "--csv -: exit $?"
    [ "$(wc -l <"$tmp/out")" = 2 ] || fail "--csv -: not just head and one row"
    echo before >"$tmp/c"
    ! launch 2 timeout 2 "$bench" allreduce --min 1M --iterations 1000000 --repetitions 1000 --csv "$tmp/c" >"$tmp/out" 2>&1 || fail "not interrupted"
    [ "$(cat "$tmp/c")" = before ] || fail "--csv: a run without a row has changed its file"
    launch 2 "$bench" allreduce --max 8 --alloc --json "$tmp/j" --csv "$tmp/c" --html "$tmp/h" >"$tmp/out" || fail "--alloc: exit $?"
    grep -q "^# .*   memory of the library" "$tmp/out" && grep -q '"alloc": *true' "$tmp/j" && grep -q "memory of the library" "$tmp/h" &&
        [ "$(cut -d, -f10 "$tmp/c" | tr '\n' ' ')" = "alloc 1 " ] || { fail "--alloc is not told"; cat "$tmp/out" "$tmp/c" >&2; }
    if [ -w /dev/full ]; then
        ln -s /dev/full "$tmp/full"
        for option in csv json html; do
            ! launch 2 "$bench" allreduce --max 8 --$option "$tmp/full" >"$tmp/out" 2>"$tmp/err" || fail "--$option on a full disk: exit 0"
            grep -q "^coll_bench[a-z_]*: --$option=$tmp/full: No space left on device" "$tmp/err" || { fail "--$option: no file and reason"; cat "$tmp/err" >&2; }
        done
    fi
    launch 2 "$bench" --help >"$tmp/out" || fail "--help: exit $?"
    [ "$(grep -c '^ *--repetitions' "$tmp/out")" = 1 ] || fail "--help: not exactly once"
}

run_cases() {
    case_check_passes
    case_check_finds_a_fault
    case_loops
    case_bad_input
    case_outputs
    [ $failures = 0 ] || { echo "$failures failed"; exit 1; }
}
