#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HX_STATS tells the calls that were made, in every form, to the number and byte, on one node and on several; the counters follow them.
. "$(dirname "$0")/common.sh"

# told WHOSE NAME CALLS STARTED BYTES
told() {
    awk -v whose="$1:" -v name="$2" -v want="$3 $4 $5" 'index($0, "hierax stats: " whose " " name " ") {
        sub(".*: " name " +", ""); if ($1 " " $2 " " $3 == want) found = 1 } END { exit !found }' "$tmp/err" ||
        fail "no $3 calls, $4 started, $5 bytes of $2 by $1: $(grep " $2 " "$tmp/err")"
}

counter() { # WHOSE NAME: its value
    sed -n "s/^hierax stats: $1: $2  *\\([0-9]*\\) .*/\\1/p" "$tmp/err"
}

for nodes in 1 2 3; do
    HX_STATS=1 timeout 60 "$run" -n 3 --nodes $nodes -- "$here/counted" 2>"$tmp/err" || { fail "$nodes nodes: status $?"; cat "$tmp/err" >&2; }
    told 'all 3 ranks' allreduce 30 0 12000
    told 'all 3 ranks' allgather 15 0 1800
    told 'all 3 ranks' bcast 3 3 72
    told 'all 3 ranks' reduce_scatter_block 3 0 72
    told 'all 3 ranks' gather 3 0 24
    told 'all 3 ranks' alltoallv 3 0 36
    told 'all 3 ranks' scan 0 6 96
    head='hierax stats: all 3 ranks: collective .* calls started .* bytes .* ms .* longest'
    [ "$(sed "0,/^$head\$/d; / plans_chosen /,\$d" "$tmp/err" | wc -l)" = 7 ] || { fail "other collectives are told"; cat "$tmp/err" >&2; }
    [ "$(counter 'all 3 ranks' plans_built)" -ge 21 ] || fail "fewer plans were built than collectives called"
    sent=$(counter 'all 3 ranks' net_messages_sent)
    [ $nodes = 1 ] && [ -z "$sent" ] || [ "${sent:-0}" -gt 20 ] || fail "$nodes nodes: ${sent:-no} messages"
    [ "$sent" = "$(counter 'all 3 ranks' net_messages_received)" ] || fail "sent is not received"
done

HX_STATS=2 timeout 60 "$run" -n 3 -- "$here/counted" 2>"$tmp/err" || fail "each rank: status $?"
for rank in 0 1 2; do
    told "rank $rank" allreduce 10 0 4000
done
told 'all 3 ranks' allreduce 30 0 12000

# a plan that the settings would not have: rounding sums need another one than they say
HX_STATS=1 HX_ALLREDUCE=exclusive_dissemination timeout 60 "$run" -n 3 -- "$here/counted" 2>"$tmp/err" || fail "with a forced plan: status $?"
[ "$(counter 'all 3 ranks' fallbacks)" = 3 ] || fail "a fallback on each of three ranks is not counted: $(grep fallbacks "$tmp/err")"

# of a communicator that has gone; making and freeing it took calls too
HX_STATS=1 timeout 60 "$run" -n 3 -- "$here/counted" 1 2>"$tmp/err" || fail "with another communicator: status $?"
[ "$(counter 'all 3 ranks' allgather)" -ge 15 ] && [ "$(counter 'all 3 ranks' plans_built)" -ge 24 ] ||
    fail "a freed communicator's calls are not told: $(grep -E 'allgather|plans_built' "$tmp/err")"

"$run" -n 3 -- "$here/counted" 2>"$tmp/err" && ! grep 'hierax stats' "$tmp/err" || fail "something is told without HX_STATS: $(cat "$tmp/err")"

# HX_EXPLAIN leaves out the sums and the barrier of hx_finalize
HX_STATS=1 HX_EXPLAIN=1 timeout 60 "$run" -n 3 --nodes 2 -- "$here/counted" 2>"$tmp/err" || fail "HX_EXPLAIN: status $?"
[ "$(grep -c '^hierax plan: allreduce of ' "$tmp/err")" = 1 ] && ! grep -q '^hierax plan: barrier' "$tmp/err" ||
    { fail "HX_EXPLAIN shows other calls than the program's"; cat "$tmp/err" >&2; }
finish
