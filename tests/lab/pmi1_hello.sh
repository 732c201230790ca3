#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The smallest PMI-1 client: says its host, waits, and prints what its right neighbour said. Tests the lab, not Hierax.
set -euo pipefail

ask() { # one line out, one line back; the answer's NAME=value pairs become variables a_NAME
    local word
    echo "$1" >&"$PMI_FD"
    read -r -u "$PMI_FD" line
    for word in $line; do
        printf -v "a_${word%%=*}" %s "${word#*=}"
    done
    [ "${a_rc:-0}" = 0 ] || { echo "pmi: '$1' answered '$line'" >&2 && exit 1; }
}

[ -n "${PMI_FD:-}" ] || { echo "pmi: no PMI_FD: not started by a PMI-1 launcher" >&2 && exit 2; }
ask "cmd=init pmi_version=1 pmi_subversion=1"
ask "cmd=get_maxes"
ask "cmd=get_my_kvsname"
kvs=$a_kvsname
ask "cmd=put kvsname=$kvs key=at-$PMI_RANK value=$(hostname)"
ask "cmd=barrier_in"
ask "cmd=get kvsname=$kvs key=at-$(((PMI_RANK + 1) % PMI_SIZE))"
echo "rank $PMI_RANK of $PMI_SIZE on $(hostname), next on $a_value"
ask "cmd=finalize"
