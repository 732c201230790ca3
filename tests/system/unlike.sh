#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that make different calls, over every algorithm and composition: none succeeds with data that are not those of its own call, and
# nothing hangs. TEST_SEED draws others, TEST_TRIALS more for each shape.
#
# TEST_TRIALS=all runs the whole matrix (plans x differences x sizes) of each shape. It takes hours on two cores. TEST_PART=2/16 runs the
# second of 16 equal parts of it: for 16 machines, or 16 runs. Most of a trial is waiting, so more jobs run at once than there are cores:
# TEST_JOBS. TEST_SHAPES='6 3,1,2 tcp' runs one shape alone; several stand in lines.
. "$(dirname "$0")/common.sh"

program=$here/unlike
seed=${TEST_SEED:-1}
most=240 # trials in a job: a communicator that has failed keeps its memory until hx_finalize
# -: no network. writes: efa, whose devices write into each other's memory. best: the default, native tcp where there is no better one
shapes=("8 8/2/2 -" "4 1 -" "4 2 writes" "6 3,1,2 efa" "4 2 best" "6 3,1,2 best" "4 2 tcp;ofi_rxm" "6 3,1,2 tcp;ofi_rxm")
[ -z "${TEST_SHAPES:-}" ] || mapfile -t shapes <<<"$TEST_SHAPES"

# job RANKS NODES PROVIDER NAME ARGUMENT...: in the background, with its files
job() {
    local n=$1 nodes=$2 provider=$3 name=$4
    shift 4
    case $provider in
    - | best) ;;
    efa | writes) local -x HX_PROVIDER=efa FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs EFA_WORST=reorder EFA_SEED=$seed ;;
    *) local -x HX_PROVIDER=$provider ;;
    esac
    if [ "$provider" = writes ]; then
        local -x EFA_RDMA=1 HX_RDMA=1
    fi
    {
        timeout 600 "$run" -n "$n" --nodes "$nodes" -- "$program" "$@" >"$tmp/out.$name" 2>"$tmp/err.$name"
        echo $? >"$tmp/code.$name.part"
        mv "$tmp/code.$name.part" "$tmp/code.$name"
    } &
    names+=("$name")
}
names=()

# judge: those of these jobs that have ended have done so as they should
judge() {
    local name
    for name in "${names[@]}"; do
        if [ ! -e "$tmp/code.$name" ]; then
            names+=("$name")
        elif [ "$(cat "$tmp/code.$name")" != 0 ]; then
            fail "$name: exit $(cat "$tmp/code.$name")"
            { grep '^unlike:' "$tmp/err.$name" || tail -n 5 "$tmp/err.$name"; } | head -n 8 >&2
        else
            rm "$tmp/err.$name" # the whole matrix tells gigabytes
        fi
        names=("${names[@]:1}")
    done
}

# trials RANKS NODES PROVIDER FROM TO [all]
trials() {
    job "$1" "$2" "$3" "trials.$1.${2//\//_}.$3.$4" "$seed" "$4" "$5" ${6+"$6"}
}

# matrix PART PARTS: that part of all trials of all shapes, so many jobs at a time
matrix() {
    local shape n nodes provider total from number=0 jobs=${TEST_JOBS:-$((4 * $(nproc)))}
    for shape in "${shapes[@]}"; do
        read -r n nodes provider <<<"$shape"
        total=$("$run" -n "$n" --nodes "$nodes" -- "$program" list)
        for ((from = 0; from < total; from += most)); do
            ((number++ % $2 == $1 - 1)) || continue
            while [ ${#names[@]} -ge "$jobs" ]; do
                wait -n
                judge
            done
            trials "$n" "$nodes" "$provider" $from $((from + most < total ? from + most : total)) all
        done
    done
}

if [ "${TEST_TRIALS:-}" = all ]; then
    part=${TEST_PART:-1/1}
    [[ $part =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ && ${BASH_REMATCH[1]} -le ${BASH_REMATCH[2]} ]] || fail "TEST_PART=$part: not like 2/16" || finish
    matrix "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    wait
    judge
    for shape in "${shapes[@]}"; do
        read -r n nodes provider <<<"$shape"
        cat "$tmp/out.trials.$n.${nodes//\//_}.$provider".* 2>/dev/null | awk -v shape="$shape" '
            $1 == "trials" { trials += $2; gsub(",", ""); wrong += $NF }
            $1 == "spent" { n[$2] += $3; s[$2] += $5; late[$2] += $NF }
            END {
                printf "%s: %d trials, wrong %d; seconds each, timed out:", shape, trials, wrong
                for (i in n) if (n[i]) printf " %s %.2f %d%%", i, s[i] / n[i], 100 * late[i] / n[i]
                print ""
            }'
    done
    finish
fi

# the first trials of a shape show each of its algorithms; there are fewer than 110 on one node, and 90 on several
extra=${TEST_TRIALS:-0}
trials 8 8/2/2 - 0 $((55 + extra))
trials 8 8/2/2 - $((55 + extra)) $((110 + 2 * extra))
trials 4 1 - 110 $((125 + extra))
trials 4 2 writes 0 $((35 + extra))
trials 4 2 best 35 $((70 + extra))
trials 4 2 'tcp;ofi_rxm' 70 $((90 + extra))
trials 6 3,1,2 efa 100 $((125 + extra))
trials 6 3,1,2 best 0 $((30 + extra))
trials 6 3,1,2 'tcp;ofi_rxm' 30 $((50 + extra))
for nodes in 1 3,1,2; do
    job 6 $nodes - "groups.$nodes" groups
    job 6 $nodes - "finalize.$nodes" finalize
done
job 2 2 - stale.2 stale
job 4 1 - late late
job 2 2 efa stale.efa stale
wait
judge
grep -h '^trials' "$tmp"/out.*

# it has seen what it is for: most of the trials end with ranks that tell what differs
for out in "$tmp"/out.trials.*; do
    [ "$(sed -n 's/.*HX_ERR_MISMATCH \([0-9]*\),.*/\1/p' "$out")" -gt 20 ] || fail "$out: hardly any difference is told: $(tail -n 1 "$out")"
done

# every registered algorithm has run; single copy only where the kernel lets ranks read each other
"$top_builddir/tools/coll_info" --algorithms | awk '/^  / && $2 != "algorithm" { print $1, $2, ($4 ~ /single/ || $5 ~ /^copy/) }' >"$tmp/registered"
[ "$(wc -l <"$tmp/registered")" -gt 50 ] || fail "coll_info lists $(wc -l <"$tmp/registered") algorithms"
while read -r coll name single; do
    grep -qx "covered $coll $name" "$tmp"/out.* && continue
    [ "$single" = 1 ] && ! grep -q '^covered [a-z_]* single_copy' "$tmp"/out.* && continue
    fail "no trial has run $coll $name"
done <"$tmp/registered"
finish
