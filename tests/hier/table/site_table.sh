#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The site's tuning table: used where HX_TABLE says nothing, told in the log, switched off, overridden, refused.
. "$(dirname "$0")/../../system/common.sh"
job=$(cd "$top_builddir/tests/hier/table" && pwd)/site_job
run=$(cd "$top_builddir/tools" && pwd)/coll_run
cd "$tmp" || exit 1

# job STATUS [X=Y...]: on two ranks; what they say is in err
job() {
    local expected=$1 status=0
    shift
    timeout 60 env HX_LOG=info HX_EXPLAIN=1 "$@" "$run" -n 2 -- "$job" >out 2>err || status=$?
    [ "$((status != 0))" = "$expected" ] || { fail "$*: exit $status"; cat err >&2; }
}
untold() { ! grep -q "from the table\|HX_TABLE" err || { fail "$1: a table is used"; cat err >&2; }; }

job 0
untold "no table"
"$job" write site_table.json 'flat(ring)' || fail "cannot write a table"
"$job" write other.json 'flat(mesh)' || fail "cannot write a table"
job 0
has err "HX_TABLE is not set: using the site's table site_table.json" "the log"
has err "HX_TABLE: site_table.json: 1 entries" "the log"
has err "allreduce of 512 B: flat(ring)" "the site's table"
job 0 HX_TABLE=
untold "HX_TABLE="
job 0 HX_TABLE=none
untold "HX_TABLE=none"
job 0 HX_TABLE=other.json
has err "allreduce of 512 B: flat(mesh)" "HX_TABLE=other.json"
job 0 HX_TABLE=:other.json: # empty parts are no files
has err "allreduce of 512 B: flat(mesh)" "HX_TABLE=:other.json:"
! grep -q "ignores this table" err || { fail "an empty part of HX_TABLE is taken for a file"; cat err >&2; }
job 0 HX_TABLE=no_such.json
[ "$(grep -c no_such err)" = 1 ] || { fail "a table that is passed over is told not exactly once"; cat err >&2; }
has err "warn: HX_TABLE: no_such.json: No such file or directory: Hierax ignores this table" "a table passed over"
job 0 HX_TABLE=other.json:no_such.json
has err "no_such.json: No such file or directory: Hierax ignores this table" "one table of two passed over"
has err "allreduce of 512 B: flat(mesh)" "the other one"
job 1 HX_TABLE=other.json:no_such.json HX_TABLE_STRICT=1
job 0 HX_ALLREDUCE=recursive_doubling:-1K
has err "allreduce of 512 B: flat(recursive_doubling)" "a setting above the table"

# refused: the job runs on, or stops
head -c 200 site_table.json >cut && mv cut site_table.json
job 0
has err "site_table.json:" "a table cut short"
has err "ignores this table" "a table cut short"
job 1 HX_TABLE_STRICT=1
has err "HX_TABLE: site_table.json:" "strict"
for wrong in '/"hierax_table": 1/"hierax_table": 2/later version' '/"cpus": [0-9]*/"cpus": 4097/4097 processing units'; do
    "$job" write site_table.json 'flat(ring)'
    IFS=/ read -r _ from to told <<<"$wrong"
    sed -i "s/$from/$to/" site_table.json
    job 0
    has err "$told" "HX_TABLE_STRICT=0: $to"
    ! grep -q "from the table" err || fail "$to: it is used"
    job 1 HX_TABLE_STRICT=1
    has err "$told" "HX_TABLE_STRICT=1: $to"
    grep -q "site_table.json:[0-9]*:" err || { fail "$to: no line is told"; cat err >&2; }
done
finish
