#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that were not written for Hierax: with libhierax-mpi each gives the results that it gives without it, and Hierax serves at least 97 %
# of the collective calls that need messages. What it does not serve has a cause of the documented list.
# shellcheck source=programs_of.sh
. "$(dirname "$0")/jobs.sh"
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/programs_of.sh"
causes=$(grep -hs '^| [^|]* | [^|]* |$' "$tests/../../bindings/mpi/README.md" "$tests"/../../tools/man/hierax-mpi.*.md |
    grep -v '^| Hierax does not run |\|^| Hierax could not make the communicator |') # these must not occur here
[ -n "$causes" ] || fail "no table of causes"

# served WHERE: by the lines of HXMPI_STATS=1
served() {
    local cause
    awk '/^hierax-mpi: rank [0-9]+: [0-9]+ of [0-9]+ collective calls served/ { s += $4; n += $6 }
        /^hierax-mpi: rank [0-9]+: MPI_.* communicator of one rank$/ { n -= $5 }
        END { print s + 0, "of", n + 0; exit !(n > 0 && s >= 0.97 * n) }' "$tmp/err" >"$tmp/share" || why "$1: served are $(cat "$tmp/share")"
    sed -nE 's/^hierax-mpi: rank [0-9]+: MPI_[A-Za-z_]+ +[0-9]+  (.*)$/\1/p' "$tmp/err" | grep -vx served | sort -u |
        while read -r cause; do
            grep -qF -- "| $cause | " <<<"$causes" || echo "$cause"
        done >"$tmp/others"
    [ ! -s "$tmp/others" ] || why "$1: calls went to MPI: $(cat "$tmp/others")"
}

# suite PROGRAM MPI: on 2 ranks of 1 and 2 nodes, and on 4 of 3, without the library and with it
job_seconds=300
suite() {
    local n nodes
    for n in 2 4; do
        prepare "$1" "$2" "$n" short
        job "$2" "$n" 1 LD_PRELOAD= -- env -C "$tmp/work" "${command[@]}" || { why "$1, $2, $n ranks, plain: exit $?"; continue; }
        results "$1" >"$tmp/plain"
        for nodes in $([ $n = 2 ] && echo 1 2 || echo 3); do
            prepare "$1" "$2" "$n" short
            job "$2" "$n" $nodes HXMPI_STATS=1 -- env -C "$tmp/work" "${command[@]}" || { why "$1, $2, $n ranks on $nodes nodes: exit $?"; continue; }
            results "$1" >"$tmp/ours"
            alike "$tmp/plain" "$tmp/ours" || { fail "$1, $2, $n ranks on $nodes nodes: other results"; diff "$tmp/plain" "$tmp/ours" | head -n 20 >&2; }
            served "$1, $2, $n ranks on $nodes nodes"
            echo "$1, $2, $n ranks on $nodes nodes: served $(cat "$tmp/share")"
        done
    done
}

while read -r program mpi file package; do
    [[ " ${mpis[*]} " = *" $mpi "* ]] || continue
    if [ ! -e "$file" ]; then
        fail "$program: no $file: tools/setup tests installs $package"
        continue
    fi
    [ $# != 0 ] && [[ " $* " != *" $program "* ]] || suite "$program" "$mpi"
done < <(grep . <<<"$programs")
finish
