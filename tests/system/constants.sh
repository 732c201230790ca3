#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The constants of a node: measured, kept in a file, the same on all ranks; none of them changes the bits of a result.
. "$(dirname "$0")/common.sh"
unset HX_CONSTANTS
info=$top_builddir/tools/coll_info
export XDG_CACHE_HOME=$tmp/cache

# constants N [X=Y...]: a job of N ranks; coll_info's list is in out, the log in err
job() {
    local n=$1
    shift
    timeout 100 env HX_LOG=debug "$@" "$run" -n "$n" -- "$info" --json >"$tmp/out" 2>"$tmp/err" || { fail "$*: exit $?"; tail -n 5 "$tmp/err" >&2; }
}
# source of the constants, hash: as coll_info and as each rank's log have them
told() { sed -n 's/.*"constants": *{ *"source": *"\([^"]*\)", *"hash": *"\{0,1\}\([0-9a-z]*\).*/\1 \2/p' <<<"$(tr -d '\n' <"$tmp/out")"; }
logged() { sed -n 's/.*constants of the node: \(.*\), hash \(.*\)/\1 \2/p' "$tmp/err" | sort | uniq -c | sed 's/^ *//'; }
expect() { # N SOURCE WHAT: all N ranks have constants of that source, and coll_info's hash
    local told
    told=$(told)
    [ "${told% *}" = "$2" ] || fail "$3: coll_info says ${told:-nothing}, not $2"
    [ "$2" = "built in" ] || [ "$(logged)" = "$1 $told" ] || fail "$3: ranks say $(logged), coll_info $told"
    [ "$2" != "built in" ] || [ "$(logged)" = "$1 built in 0000000000000000" ] || fail "$3: ranks say $(logged)"
}
write() { # FILE FETCH-RATE
    printf '%s\n' 'hierax_constants 1' 'machine a test' 'hand_off_ns 100' 'line_ns 50' 'call_ns 400' "fetch_cold_mb_s $2" \
        "fetch_warm_mb_s $2" 'slot_cold_mb_s 10000' 'slot_warm_mb_s 10000' 'own_mb_s 40000' 'fold_mb_s 20000' end >"$1"
}

reads() { ! grep -q "no single copy" "$tmp/err"; } # the kernel lets ranks read each other

job 2 HX_CONSTANTS=none
expect 2 "built in" "HX_CONSTANTS=none"
reads || skip "ranks cannot read each other's memory here"
job 2 HX_SINGLE_COPY=0
expect 2 "built in" "HX_SINGLE_COPY=0"
job 1
expect 1 "built in" "one rank"
[ ! -e "$tmp/cache" ] || fail "a file is written though nothing was measured"

# measured, then from the file. Where the machine is so busy that two ranks do not meet in time, the next job tries again.
for ((i = 0; i < 60; i++)); do
    job 2
    [ "$(told | cut -d' ' -f1)" != built ] && break
done
expect 2 measured "no file"
[ "$(find "$tmp/cache/hierax" -type f | wc -l)" = 1 ] || fail "not one file is in the cache: $(ls -a "$tmp/cache/hierax")"
grep -q "^line_ns [1-9]" "$tmp"/cache/hierax/constants-* || [ "$(nproc)" = 1 ] || fail "the time of a line is not measured: $(cat "$tmp"/cache/hierax/*)"

# Of four ranks on two cores, the first two share a core: the second rank that measures is on the other core.
two=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
if [[ $two = *,* ]]; then
    for ((i = 0; i < 60; i++)); do
        rm -rf "$tmp/cache"
        timeout 100 taskset -c "$two" "$run" -n 4 -- "$info" --json >"$tmp/out" 2>"$tmp/err" || fail "four ranks on two cores: exit $?"
        [ "$(told | cut -d' ' -f1)" != built ] && break
    done
    grep -q "^machine .*, other core; " "$tmp"/cache/hierax/constants-* || fail "two ranks of one core measure: $(cat "$tmp"/cache/hierax/*)"
fi

# a named file: on all ranks rank 0's, also where ranks name others, and on two nodes
write "$tmp/fast" 90000
write "$tmp/slow" 1000
# shellcheck disable=SC2016
HX_LOG=debug HX_NODES=2 timeout 100 "$run" -n 4 -- "$BASH" -c \
    '[ $HX_RANK -ge 2 ] && export HX_CONSTANTS=$1/slow || export HX_CONSTANTS=$1/fast; exec "$2" --json' _ "$tmp" "$info" \
    >"$tmp/out" 2>"$tmp/err" || fail "two nodes: exit $?"
expect 4 file "two nodes"

# The network is measured only if HX_CONSTANTS is not set. coll_info shows the values and their source. All ranks choose the same plans.
network() { # SOURCE-IN-COLL_INFO TEXT-OF-HX_EXPLAIN [X=Y...]
    local source=$1 text=$2
    shift 2
    env "$@" timeout 100 "$run" -n 4 --nodes 2 -- "$info" --constants --json >"$tmp/out" 2>"$tmp/err" || fail "coll_info --constants, $*: exit $?"
    python3 - "$source" "$tmp/out" <<'PYTHON' || fail "coll_info --constants, $*: the network's parameters are not $source: $(cat "$tmp/out")"
import json, sys
document = json.load(open(sys.argv[2]))
model = {row["parameter"]: row for row in document["model"]}
assert set(document) == {"constants", "model"} and model["net_alpha_us"]["source"] == sys.argv[1] and model["net_alpha_us"]["value"] > 0
PYTHON
    env "$@" HX_EXPLAIN=1 timeout 100 "$run" -n 4 --nodes 2 -- "$top_builddir/tools/coll_bench" allreduce alltoall --sizes 8,64K --repetitions 3 --check \
        >"$tmp/out" 2>"$tmp/err" || { fail "coll_bench, $*: exit $?"; tail -n 5 "$tmp/err" >&2; }
    has "$tmp/err" "hierax plan:   constants of the network: $text" "HX_EXPLAIN, $*"
    has "$tmp/out" "# constants of the network: $text" "coll_bench, $*"
}
network measured "measured at start over provider "
network default "defaults for provider " HX_CONSTANTS=none
network default "defaults for provider " HX_CONSTANTS="$tmp/fast"

# it chooses what does not change results
colls="bcast allgather alltoall gather scatter reduce allreduce"
for file in fast slow; do
    # shellcheck disable=SC2086
    HX_CONSTANTS=$tmp/$file HX_EXPLAIN=1 timeout 100 "$run" -n 2 -- "$top_builddir/tools/coll_bench" $colls --sizes 256K --repetitions 2 \
        --warmup 0 >/dev/null 2>"$tmp/$file.plans" || fail "coll_bench, $file single copy: exit $?"
done
job 2 HX_CONSTANTS="$tmp/slow"
has "$tmp/slow.plans" "hierax plan:   constants of the node: file, hash $(told | cut -d' ' -f2)" "HX_EXPLAIN"
for coll in $colls; do
    grep -q "^hierax plan: $coll of 256 KiB: .*single_copy" "$tmp/fast.plans" || fail "fast single copy: $coll has another plan"
    grep -q "^hierax plan: $coll of 256 KiB: .*single_copy" "$tmp/slow.plans" && fail "slow single copy: $coll uses it"
done

# broken files: the job goes on, and says so once
printf 'hierax_constants 1\nmachine a test\nhand_off_ns x\n' >"$tmp/bad"
job 2 HX_CONSTANTS="$tmp/bad"
[ "$(grep -c "warn: HX_CONSTANTS: $tmp/bad:3: expected \"hand_off_ns\" and an integer from 0 to " "$tmp/err")" = 1 ] || { fail "a bad file"; grep CONST "$tmp/err" >&2; }
[ "$(wc -l <"$tmp/bad")" = 3 ] || fail "a file that the user has named is replaced"
job 2 HX_CONSTANTS=/dev/null/none
grep -q "^hierax.* error" "$tmp/err" && fail "a file that cannot be written is an error"
job 2 XDG_CACHE_HOME=/dev/null HOME=/dev/null
grep -q "^hierax.* \(error\|warn\)" "$tmp/err" && { fail "a cache folder that cannot be written"; grep hierax "$tmp/err" >&2; }

# two jobs at once that write the same file
rm -rf "$tmp/cache"
for i in 1 2; do
    (for ((k = 0; k < 4; k++)); do timeout 100 "$run" -n 2 -- "$info" >/dev/null 2>>"$tmp/err$i" || echo "exit $?" >>"$tmp/err$i"; done) &
done
wait
grep -hv "^libfabric:" "$tmp/err1" "$tmp/err2" >"$tmp/err" && fail "two jobs at once: $(cat "$tmp/err")"
[ -z "$(find "$tmp/cache" -name '*.??????' 2>/dev/null)" ] || fail "a temporary file stays: $(ls "$tmp/cache/hierax")"

# what folds at once gives the same bits
for coll in allreduce reduce reduce_scatter_block; do
    setting=HX_$(tr '[:lower:]' '[:upper:]' <<<"${coll%_block}") n=0
    for name in $("$here/constants" names $coll); do
        timeout 100 env "$setting=$name" HX_CONSTANTS=none "$run" -n 3 -- "$here/constants" fold $coll >>"$tmp/$coll" 2>"$tmp/err" ||
            { fail "$coll by $name: exit $?"; tail -n 3 "$tmp/err" >&2; }
        n=$((n + 1))
    done
    [ $n -gt 1 ] && [ "$(wc -l <"$tmp/$coll")" = $n ] && [ "$(sort -u "$tmp/$coll" | wc -l)" = 1 ] || fail "$coll: $n algorithms have different bits: $(cat "$tmp/$coll")"
done
finish
