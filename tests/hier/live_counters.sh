#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# In live jobs of four and five emulated nodes every algorithm sends the messages and bytes that its plan says.
set -u
cd "${top_builddir:-build}" || exit 1
failed=0
declare -A setting
while read -r id name; do
    setting[$name]=HX_INTER_$id
done < <(sed -n 's/^HX_COLL(\([A-Z_]*\), \([a-z_]*\),.*/\1 \2/p' "$top_srcdir/runtime/base/coll.def")
for n in 4 5; do
    while read -r collective _ algorithm; do
        timeout 60 tools/coll_run -n $n --nodes $n --env "${setting[$collective]}=$algorithm" -- \
            tests/hier/live_counters "$collective" "$algorithm" </dev/null || { echo "FAILED: $n nodes, $collective, $algorithm"; failed=1; }
    done < <(tests/system/collectives names | awk '$2 == "inter"')
done
exit $failed
