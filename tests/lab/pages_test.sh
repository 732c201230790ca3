#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The commands of README and of hierax-tutorial(7), pasted in the order of the page, by a user who has only what make install
# has put there and Slurm's four hosts. Changed are budgets, names of hosts, and what root on too few cores must tell Open MPI. README's first
# block, tools/quickstart and tools/check, is not among them: tests/debian.sh runs these.
# shellcheck source=cases.sh
. "$(dirname "$0")/cases.sh"
need tools/coll_run tools/coll_tune
top=$(cd "$here/../.." && pwd)
prefix=$scratch/usr
pages=("$top/README.md" "$top/tools/man/hierax-tutorial.7.md")

installed() {
    make -C "$top_builddir" install prefix="$prefix" exec_prefix="$prefix" &&
        mkdir "$scratch/home" && cp "$top"/tests/examples/*.c "$scratch/home"
}

# PAGE: its blocks of commands, a command a line. An indented line outside a block of C is one.
commands_of() {
    sed -e '/^```c$/,/^```$/d' -e '/^    tools\//d' "$1" | sed -n 's/^    //p' |
        sed "s| --hosts a,b:4 | --agent $agent --hosts h1,h2:4 |; "'s/ *# .*//; s/--budget 2m/--budget 6s/; s/ -o t.json$/& --budget 6s/'
}

cat >"$scratch/user" <<TXT
set -e
export PATH=$prefix/bin:\$PATH LD_LIBRARY_PATH=$prefix/lib PKG_CONFIG_PATH=$prefix/lib/pkgconfig
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
pkg-config() { command pkg-config --define-prefix "\$@"; }
cd $scratch/home
eval "\$1"
TXT

pasted() { # COMMAND: succeeds, and what ./sum prints is right: the sum of 1 to n, and ten times that
    local n
    timeout -k 5 120 "$lab" exec ctl -- bash "$scratch/user" "$1" >"$scratch/out" || return
    cat "$scratch/out"
    n=$(sed -n 's/.* -n \([0-9]*\) .*\.\/sum$/\1/p' <<<"$1")
    [ -z "$n" ] || [ "$(grep -cx "rank [0-9]* of $n: $((n * (n + 1) / 2)) $((5 * n * (n + 1)))" "$scratch/out")" = "$n" ]
}

CASE_SECONDS=150 check "make install" installed
check "lab up" "$lab" up 4
CASE_SECONDS=150 check "lab slurm up" "$lab" slurm up
for page in "${pages[@]}"; do
    mapfile -t commands < <(commands_of "$page")
    for command in "${commands[@]}"; do
        check "$(basename "$page" .md): $command" pasted "$command"
    done
    check "$(basename "$page") has commands" test ${#commands[@]} -ge 10
done
check "lab down" "$lab" down
finish
