#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# By hand, on a quiet machine: how long programs take with libhierax-mpi, and how long without it. Runs of both alternate. Their results are
# the same. In the build folder, after `make check TESTS=`:
#   top_builddir=$PWD ../tests/mpi/programs.sh [ROUNDS [PROGRAM...]]    default: 5 rounds of all programs of programs_of.sh, on 2 and 4 ranks
# For each program: medians of seconds, their ratio, and the share of the time that its ranks spend in blocking collectives.
# For loops: see ratios.py.
# shellcheck source=programs_of.sh
. "$(dirname "$0")/jobs.sh"
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs_of.sh"
unset HX_CONSTANTS # as users run it
job_seconds=900
rounds=${1:-5}
[ $# = 0 ] || shift

# once PROGRAM MPI N [NAME=VALUE...]: a job; sets seconds
once() {
    local program=$1 mpi=$2 n=$3 start
    shift 3
    prepare "$program" "$mpi" "$n" long
    start=$EPOCHREALTIME
    job "$mpi" "$n" 1 "$@" -- env -C "$tmp/work" "${command[@]}" || { why "$program, $mpi, $n ranks, $*: exit $?"; return 1; }
    seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }')
}

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

# share FILE SECONDS: per cent of the time that the ranks were in collectives, by HXMPI_STATS=1
share() {
    awk -v all="$2" '/collective calls served, / { t += $(NF - 4); n++ } END { printf "%.1f %%", n ? 100 * t / n / all : 0 }' "$1"
}

# compare PROGRAM MPI N
compare() {
    local i plain ours
    : >"$tmp/plain_s"
    : >"$tmp/ours_s"
    for ((i = 0; i < rounds; i++)); do
        once "$@" LD_PRELOAD= || return
        echo "$seconds" >>"$tmp/plain_s"
        results "$1" >"$tmp/plain"
        cp "$tmp/out" "$tmp/plain.$i"
        once "$@" || return
        echo "$seconds" >>"$tmp/ours_s"
        results "$1" >"$tmp/ours"
        cp "$tmp/out" "$tmp/ours.$i"
        alike "$tmp/plain" "$tmp/ours" || { fail "$*: other results"; diff "$tmp/plain" "$tmp/ours" | head -n 20 >&2; }
    done
    if [ "$1" = loops ]; then
        echo "$1, $2, $3 ranks:"
        python3 "$tests/ratios.py" "$rounds" "$tmp/plain" "$tmp/ours"
        return
    fi
    plain=$(median <"$tmp/plain_s")
    ours=$(median <"$tmp/ours_s")
    printf '%-8s %-8s %d ranks: plain %8.3f s, with Hierax %8.3f s, ratio %.3f' "$@" "$plain" "$ours" "$(awk -v a="$ours" -v b="$plain" 'BEGIN { print a / b }')"
    once "$@" HXMPI=off HXMPI_STATS=1 && printf '; in collectives: plain %s' "$(share "$tmp/err" "$seconds")"
    once "$@" HXMPI_STATS=1 && printf ', with Hierax %s\n' "$(share "$tmp/err" "$seconds")"
    own_times
}

# LAMMPS prints the time of its loop, without start and end
own_times() {
    local plain ours
    grep -q '^Loop time of' "$tmp/plain.0" || return 0
    plain=$(sed -n 's/^Loop time of \([^ ]*\) .*/\1/p' "$tmp"/plain.[0-9]* | median)
    ours=$(sed -n 's/^Loop time of \([^ ]*\) .*/\1/p' "$tmp"/ours.[0-9]* | median)
    printf '%-26s plain %8.3f s, with Hierax %8.3f s, ratio %.3f\n' "    its loop alone:" "$plain" "$ours" \
        "$(awk -v a="$ours" -v b="$plain" 'BEGIN { print a / b }')"
}

echo "load at the start: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
while read -r program mpi file package; do
    [[ " ${mpis[*]} " = *" $mpi "* ]] || continue
    [ -e "$file" ] || { fail "$program: no $file: tools/setup tests installs $package"; continue; }
    [ $# != 0 ] && [[ " $* " != *" $program "* ]] && continue
    for n in 2 4; do
        compare "$program" "$mpi" $n
    done
done < <(grep . <<<"$programs")
echo "load at the end: $(cut -d' ' -f1-3 /proc/loadavg)"
finish
