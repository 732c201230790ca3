#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Under a real Slurm, on four hosts of two ranks: a host is lost, all processes of a host are killed, the network parts 3:1 and 2:2. More than
# half of the ranks, or the half with rank 0, go on. The others get HX_ERR_MINORITY. Prints the time to the next all-reduce.
#
#    h1   h2   h3   h4          h1   h2      h3   h4
#     |    |    |    |           |    |       |    |
#    ====== br0 ======          == br0 ==    == brp ==      the network after `part 3 4`
#
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tests/system/parted
export HX_TIMEOUT=60 HX_LOG=error
ranks=8
count=1000

lost_now() { cut -d' ' -f1 /proc/uptime >"$scratch/run/lost"; }

# How the network or a host is lost. Each is undone by heal
down() { "$lab" exec "$1" -- ip link set eth0 down; }
part() { # HOST...: to a bridge of their own
    local host
    "$lab" exec 0 -- ip link add brp type bridge && "$lab" exec 0 -- ip link set brp up || return 1
    for host; do "$lab" exec 0 -- ip link set "h$host" master brp; done
}
murder() { # HOST: all processes there that Slurm or Hierax has started
    "$lab" ps "$1" >"$scratch/ps"
    awk '/parted|slurmstepd|slurmd/ && !/awk/ { print $1 }' "$scratch/ps" | xargs -r kill -KILL
}
heal() {
    local host
    for host in 1 2 3 4; do
        "$lab" exec "$host" -- ip link set eth0 up
        "$lab" exec 0 -- ip link set "h$host" master br0
    done
    "$lab" exec 0 -- ip link del brp 2>/dev/null || true
}

all_have() { # PATTERN RANK...: these ranks have written that
    local pattern=$1 rank
    shift
    for rank; do
        grep -qE "$pattern" "$scratch/run/rank.$rank" 2>/dev/null || return 1
    done
}
await() { # SECONDS PATTERN RANK...
    local i most=$1
    shift
    for ((i = 0; i < most * 20; i++)); do
        all_have "$@" && return 0
        sleep 0.05
    done
    return 1
}

# loses WHAT MOST_MS GO_ON STOP LOSS...: after the loss ranks GO_ON go on within MOST_MS, and ranks STOP stop
loses() {
    local name=$1 most=$2 go=$3 stop=$4 job status=0 rank
    shift 4
    rm -rf "$scratch/run"
    mkdir -m 777 "$scratch/run"
    "$lab" srun --mpi=pmi2 --no-kill --kill-on-bad-exit=0 -N4 -n$ranks --ntasks-per-node=2 \
        "$top_builddir/tests/system/parted" "$scratch/run" "$count" >"$scratch/srun" 2>&1 &
    job=$!
    # shellcheck disable=SC2046,SC2086 # lists of ranks
    await 60 runs $(seq 0 $((ranks - 1))) || status=1
    sleep 0.3
    "$@" || status=1
    lost_now
    # shellcheck disable=SC2086
    { await 40 "goes on with $(wc -w <<<"$go") ranks" $go && await 40 "stops: HX_ERR_MINORITY" $stop; } || status=1
    kill -KILL $job
    heal
    for rank in $go $stop; do echo "rank $rank $(cat "$scratch/run/rank.$rank")"; done
    cat "$scratch/srun"
    for rank in $go; do sed -n 's/.* after \([0-9]*\) ms$/\1/p' "$scratch/run/rank.$rank"; done | sort -n |
        awk -v name="$name" -v most="$most" '{ t[NR] = $1 }
            END { printf "%s: from the loss to the next all-reduce median %d ms, longest %d ms\n", name, t[int((NR + 1) / 2)], t[NR]
                  exit !(NR > 0 && t[NR] <= most) }' >>"$scratch/times" || status=1
    "$lab" exec 0 -- scancel -u root -s KILL 2>/dev/null
    return $status
}

check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
chmod 777 "$scratch"
check "a host loses its network: six ranks go on" loses "a host lost" 12000 "0 1 2 3 4 5" "6 7" down 4
export HX_SILENT=2
check "HX_SILENT=2, the network parts 1:3: six ranks go on without rank 0" loses "1:3, HX_SILENT=2" 5000 "2 3 4 5 6 7" "0 1" part 1
check "HX_SILENT=2, the network parts 2:2: the half with rank 0 goes on" loses "2:2, HX_SILENT=2" 5000 "0 1 2 3" "4 5 6 7" part 3 4
count=1000000
"$lab" slow 4 200 # else messages are seldom in the middle
check "HX_SILENT=2, a host loses its network in the middle of long messages: six ranks go on" loses "a host lost, 8 MB" 12000 "0 1 2 3 4 5" "6 7" down 4
count=1000
unset HX_SILENT
check "all processes of a host die, slurmd too: six ranks go on" loses "a host killed" 3000 "0 1 2 3 4 5" "" murder 4
cat "$scratch/times"
finish
