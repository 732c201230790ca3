#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/check, interrupted: all that a part has started ends, in whatever group, session, namespace or inner check it is. In a tree of its
# own, whose configure starts such things instead of looking at the compiler.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d)
trap 'pkill -KILL -f -x "sleep $mark"; rm -rf "$tmp"' EXIT
failures=0
fail() { echo "FAIL: $*" >&2; failures=$((failures + 1)); }

tree() { # DIR CONFIGURE: a tree whose check has a part build that runs that script
    mkdir -p "$1/tools" "$1/tests"
    cp "$top/tools/check" "$1/tools/" && cp "$top/tests/brief.sh" "$1/tests/"
    printf '#!/bin/sh\n' | tee "$1/tools/setup" >"$1/configure.ac"
    printf '#!/usr/bin/env bash\n%s\nsleep %s &\nwait\n' "$2" "$mark" >"$1/configure"
    chmod +x "$1/tools/setup" "$1/configure"
    touch -d '1 minute ago' "$1/configure.ac"
}

there() { pgrep -c -f -x "sleep $mark"; } # how many sleep

mark=4$$ # a number of seconds that no other sleep has
tree "$tmp/inner" "timeout 5000 sleep $mark &"
things="timeout 5000 sleep $mark & setsid sleep $mark & (trap '' TERM; sleep $mark) & $tmp/inner/tools/check build &"
expected=6
if unshare --mount --pid --fork --kill-child true 2>/dev/null; then
    things+=" mkdir '$tmp/mounted'; unshare --mount --pid --fork --kill-child sh -c \"mount -t tmpfs tmpfs '$tmp/mounted'; env -i sleep $mark\" &"
    expected=7
fi
tree "$tmp/outer" "$things"

stops() { # WHAT SIGNAL GROUP: sent to the process, or with GROUP '-' to the group, that is check
    local i pid status=0 began
    setsid env --default-signal=INT "$tmp/outer/tools/check" build >"$tmp/out" 2>&1 </dev/null &
    pid=$!
    for ((i = 0; i < 300 && $(there) < expected; i++)); do sleep 0.1; done
    [ "$(there)" = $expected ] || fail "$1: $(there) of $expected processes run"
    began=$SECONDS
    kill "-$2" -- "$3$pid"
    wait $pid || status=$?
    [ $status = $((128 + $(kill -l "$2"))) ] || { fail "$1: status $status"; cat "$tmp/out" >&2; }
    [ $((SECONDS - began)) -le 15 ] || fail "$1: it took $((SECONDS - began)) s"
    [ "$(there)" = 0 ] || fail "$1: $(there) processes remain"
    ! grep "$tmp" /proc/[0-9]*/mounts >&2 2>/dev/null || fail "$1: a mount remains"
}

stops "TERM to check alone" TERM ''
stops "Ctrl-C" INT -
"$tmp/outer/tools/check" nosuch 2>"$tmp/out" && fail "an unknown part is not refused"
grep -q "unknown part 'nosuch'; parts: build check " "$tmp/out" || { fail "an unknown part is not named"; cat "$tmp/out" >&2; }

# In CI up to three tests that fail run once more. Here there are five tests.
tries() { # FAILED_FIRST FAILED_AGAIN LAST_LINE CI: of a check
    local name
    {
        printf 'all:\ncheck:\n'
        printf '\t@test -n "$(TESTS)" || { for name in %s; do echo "FAIL: tests/$$name"; done; false; } || ' "$1"
        printf '{ echo "# PASS:  %d"; echo "# FAIL:  %d"; false; }\n' $((5 - $(wc -w <<<"$1"))) "$(wc -w <<<"$1")"
        for name in $2; do printf '\t@test "$(TESTS)" != tests/%s\n' "$name"; done
    } >"$tmp/again/Makefile.in"
    touch -d '1 minute ago' "$tmp/again/configure"
    rm -rf "$tmp/again/build-check"
    CI=$4 "$tmp/again/tools/check" check >"$tmp/out" 2>&1 </dev/null
    [ "$(tail -n 1 "$tmp/out")" = "$3" ] || { fail "tries of '$1', then '$2': not $3"; cat "$tmp/out" >&2; }
}
tree "$tmp/again" "cp '$tmp/again/Makefile.in' Makefile; exit"
tries "a b" "" "5 passed, 0 failed" true
[ "$(grep -c '^PASSED AT THE SECOND TRY: tests/[ab]$' "$tmp/out")" = 2 ] || { fail "second tries are not named"; cat "$tmp/out" >&2; }
tries "a b" "b" "4 passed, 1 failed" true
tries "a b" "" "3 passed, 2 failed" ''
tries "a b c d" "" "1 passed, 4 failed" true

# A part that cannot run says why. With CI=true that is a failure.
as_nobody=()
[ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid 65534 --clear-groups)
tree "$tmp/other" true
cp "$top/tests/debian.sh" "$tmp/other/tests/"
chmod -R a+rwX "$tmp"
CI='' "${as_nobody[@]}" "$tmp/other/tools/check" debian13 >"$tmp/out" || fail "a skipped part fails"
grep -q '^# SKIP:  1 (debian.sh trixie: needs root)$' "$tmp/out" || { fail "the reason is missing"; cat "$tmp/out" >&2; }
CI=true "${as_nobody[@]}" "$tmp/other/tools/check" debian13 >"$tmp/out" && fail "a skipped part does not fail with CI=true"
tail -n 1 "$tmp/out" | grep -q '^0 passed, 1 failed$' || { fail "a skipped part is not counted"; cat "$tmp/out" >&2; }
exit $((failures > 0))
