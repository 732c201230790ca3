#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong command lines of all tools: each ends at once with its status, and says what is wrong, with the value and the choices. If an
# option has several values, the last one counts.
set -u
tools=$(cd "${top_builddir:-build}/tools" && pwd)
sources=$(cd "${top_srcdir:-$(dirname "$0")/../..}" && pwd)
unset "${!HX_@}" COLUMNS
export XDG_CACHE_HOME=/dev/null # nothing is written to the user's cache
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# STATUS | command line | a part of what it says
cat >"$tmp/table" <<'END'
2 | coll_bench | no collective given; choices: allreduce
2 | coll_bench alreduce | unknown collective "alreduce" (did you mean allreduce?); choices: allreduce
2 | coll_bench allreduce --max | option --max needs a value, BYTES: largest size
2 | coll_bench allreduce --max --check | --max=--check: expected a number of bytes from 0 B to 1024 GiB, such as 8, 64K or 64KiB
2 | coll_bench allreduce --max '' | --max=: expected a number of bytes
2 | coll_bench allreduce --max 64Q | --max=64Q: expected a number of bytes from 0 B to 1024 GiB
2 | coll_bench allreduce --max 64KB | --max=64KB: expected a number of bytes
2 | coll_bench allreduce --max 1.5M | --max=1.5M: expected a number of bytes
2 | coll_bench allreduce --max -1 | --max=-1: expected a number of bytes
2 | coll_bench allreduce --max 2048G | --max=2048G: expected a number of bytes from 0 B to 1024 GiB
2 | coll_bench allreduce --min 1M --max 8 | --min=1 MiB is above --max=8 B
2 | coll_bench allreduce --min 16 --max 32 --max 8 --check --check | --min=16 B is above --max=8 B
2 | coll_bench allreduce --op avg --dtype int32 | --op=avg is not defined for --dtype=int32; its operations: sum prod min max
2 | coll_bench allreduce --op average | unknown op "average"; choices: sum prod
2 | coll_bench allreduce --dtype float | unknown dtype "float" (did you mean float16?); choices: int8
2 | coll_bench gather --op sum | --op=sum has no effect on gather; it is for: allreduce
2 | coll_bench allreduce --root 1 | --root=1 has no effect on allreduce; it is for: bcast
2 | coll_bench bcast --root 5 | --root=5 is out of range: the last rank of this job is 0
2 | coll_bench bcast --root -1 | --root=-1: expected a whole number from 0 to
2 | coll_bench allreduce --factor 1 | --factor=1: expected a whole number from 2 to 1048576
2 | coll_bench allreduce --iterations 0 | --iterations=0: expected a whole number from 1 to 1000000
2 | coll_bench allreduce --repetitions x | --repetitions=x: expected a whole number from 1 to 1000000
2 | coll_bench allreduce --check=1 | option --check takes no value
2 | coll_bench allreduce --alpha 0 | --alpha=0: expected a number above 0
2 | coll_bench allreduce --json /nosuch/x | --json=/nosuch/x: cannot write: No such file
2 | coll_bench allreduce --fastest | unknown option "fastest"; choices: min max
2 | coll_bench allreduce -x | unknown option "x"; choices: min max
2 | coll_info allreduce | "allreduce" needs --algorithms
2 | coll_info --algorithms allreduc | unknown collective "allreduc" (did you mean allreduce?)
2 | coll_info -p 8 | "--ranks" needs --algorithms
2 | coll_info --algorithms -p 5000 | --ranks=5000: expected a whole number from 1 to 1024
2 | coll_info --algorithms -p | option --ranks needs a value, N
2 | coll_info --algorithms -p 8 -p 5000 | --ranks=5000: expected a whole number from 1 to 1024
2 | coll_info --doctor --algorithms | choose only one of --algorithms, --constants, --doctor and --table
2 | coll_info --table a b | "b" is a second one: join the files with ':'
2 | coll_info --colour | unknown option "colour"; choices: algorithms
2 | coll_info --json=yes | option --json takes no value
2 | coll_plan | no command given; choices: explain cost draw compare verify steps big
2 | coll_plan explian | unknown command "explian" (did you mean explain?)
2 | coll_plan explain allreduce | explain takes one collective, one --shape and one size
2 | coll_plan explain allreduce --shape | option --shape needs a value, SHAPE: ranks per node
2 | coll_plan explain allreduce --shape 4,,3 | shape "4,,3": expected ranks per node (4,4,3 or
2 | coll_plan explain allreduce --shape 4 64Q | --size=64Q: expected a number of bytes
2 | coll_plan explain allreduce --shape 4 1M 2M | explain takes one collective, one --shape and one size
2 | coll_plan explain allreduce --shape 4 --rank 9 | --rank=9 is out of range: the last rank of --shape 4 is 3
2 | coll_plan explain allreduce --shape 4 --rank 1 --all-ranks | choose only one of --rank and --all-ranks
2 | coll_plan explain allreduce --shape 4 --root 1 | --root=1 has no effect: allreduce has no root
2 | coll_plan explain bcast --shape 4 --root 9 | --root=9 is out of range
2 | coll_plan explain allreduce --shape 4 --dtype int31 | unknown dtype "int31"
2 | coll_plan explain allreduce --shape 4 --set HX_LANE=1 | unknown setting "HX_LANE" (did you mean HX_LANES?)
2 | coll_plan explain allreduce --shape 4 --set HX_LANES | --set HX_LANES: expected HX_NAME=VALUE
2 | coll_plan explain allreduce --shape 4 --set HX_LANES=many | HX_LANES=many: expected an integer from 0 to 1024
2 | coll_plan explain allreduce --shape 4 --algorithm rign | unknown algorithm "rign" (did you mean ring?)
2 | coll_plan explain allreduce --shape 4 --model alpha=1 | unknown parameter of the model "alpha"; choices: net_alpha_us
2 | coll_plan explain allreduce --shape 4 --table | coll_plan explain has no option --table
2 | coll_plan cost allreduce --shape 4 --json --table | choose only one of --json and --table
2 | coll_plan compare allreduce ring --shape 8x1 | compare takes one collective, one --shape and two plans
2 | coll_plan compare allreduce ring rign --shape 8x1 | unknown plan or algorithm here "rign" (did you mean ring?)
2 | coll_plan compare allreduce ring ring --shape 8x1 | compare takes two different plans or algorithms; both are "ring"
2 | coll_plan verify --max-ranks 0 | --max-ranks=0: expected a whole number from 1 to 512
2 | coll_plan big 1M 2M | big takes one size
2 | coll_plan steps --shape 4 1M 2M | steps takes one size
2 | coll_plan steps bcast --algorithm rdh | no plan of these collectives and shapes uses "rdh"
2 | coll_plan steps --json | coll_plan steps has no option --json
2 | coll_tune chekc t.json | unknown command "chekc" (did you mean check?)
2 | coll_tune check | check takes tables: coll_tune check table.json
2 | coll_tune merge a.json | merge takes two tables or more
2 | coll_tune --budget soon | --budget=soon: expected a time such as 90s, 5m or 1h
2 | coll_tune --budget 1m --budget soon | --budget=soon: expected a time
2 | coll_tune --collectives allreduce,brodcast | unknown collective "brodcast" (did you mean bcast?)
2 | coll_tune --op avg --dtype int32 | --op=avg is not defined for --dtype=int32; its operations: sum
2 | coll_tune --gain -3 | --gain=-3: expected a whole number from 0 to 1000
2 | coll_tune --min 1M --max 8 | --min=1 MiB is above --max=8 B
2 | coll_tune check --resume t.json | coll_tune check has no option --resume
2 | coll_tune -o - | --output=-: name a file
2 | coll_run | the number of ranks is missing: -n 1 to -n 16384
2 | coll_run -n | option --ranks needs a value, RANKS
2 | coll_run -n two -- true | --ranks=two: expected a whole number from 1 to 16384
2 | coll_run -n 4 -np 2 --nodes 2 --nodes 3 -- true | --nodes 3: the job has only 2 ranks
2 | coll_run -n 4 | the program to run is missing
127 | coll_run -n 4 -- /nosuch | cannot run program "/nosuch": No such file
2 | coll_run -n 4 --nodes 5 -- true | --nodes 5: the job has only 4 ranks; choose 1 to 4 nodes
2 | coll_run -n 4 --nodes 2,3 -- true | --nodes 2,3: these nodes have 5 ranks in all, but the job has 4
2 | coll_run -n 4 --env X -- true | --env X: expected NAME=VALUE
2 | coll_run -n 4 --env HX_RANK=1 -- true | coll_run itself sets HX_RANK for every rank
2 | coll_run -n 4 --bind socket -- true | unknown bind "socket"; choices: auto none core
2 | coll_run -n 4 --timeout never -- true | --timeout=never: expected a number from 0
2 | coll_compare allreduce -n two | "two": expected a whole number from 1 on
2 | coll_compare allreduce --max | argument --max: expected one argument
2 | coll_compare allreduce --max 64Q | "64Q": expected a number of bytes, such as 8, 64K or 64KiB, 1M
2 | coll_compare allreduce --min 1M --max 8 | --min=1 MiB is above --max=8 B
2 | coll_compare allreduce --min 16 --max 32 --max 8 | --min=16 B is above --max=8 B
2 | coll_compare allreduce --factor 1 | "1": expected a whole number from 2 on
2 | coll_compare allreduce --colour | unknown option "--colour"
2 | coll_trace | the command is missing; choose merge or summary
2 | coll_trace sumary x | unknown command "sumary" (did you mean summary?)
2 | coll_trace summary | no files; name the files that HX_TRACE has written
2 | coll_report | no document given
2 | coll_report x.json | nothing to write: add --html
2 | coll_report --colour | unknown option "--colour"
END

try() { # NUMBER STATUS LINE TEXT
    local status=0
    PATH=$tools:$sources/tools:$sources/tools/report:$PATH bash -c "timeout 20 $3" >"$tmp/$1" 2>&1 </dev/null || status=$?
    [ $status = "$2" ] && grep -qF -- "$4" "$tmp/$1" && return
    echo "FAILED: $3: exit $status instead of $2, or it does not say '$4':"
    sed 's/^/    /' "$tmp/$1"
}

number=0
while IFS='|' read -r status line text; do
    number=$((number + 1))
    try $number "${status% }" "$(sed 's/^ //; s/ $//' <<<"$line")" "${text# }" >"$tmp/fault.$number" &
    ((number % 4)) || wait
done <"$tmp/table"
wait
cat "$tmp"/fault.*
echo "$number wrong command lines"
[ "$number" -gt 60 ] && [ -z "$(cat "$tmp"/fault.*)" ]
