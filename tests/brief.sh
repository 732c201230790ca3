#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run a command, and all that it starts, without what costs each process that loads Debian's libfabric up to 0.3 s and no test looks at:
# - libpsm2 and libinfinipath measure the speed of core 0's clock by sleeping there for 100 ms each: copies without these constructors
#   take their places. (Not without libinfinipath's signal handlers, which inter/fabric/provider.c is about.) Hierax loads libfabric only
#   for jobs on several nodes.
# - the verbs provider of some versions reads all of /proc/kallsyms: an empty file.
# For root, by a mount namespace of its own; for others, and where that cannot be, the command runs as it would by itself.
#   tests/brief.sh COMMAND [ARGUMENT...]
set -u

if [ "${1:-}" != mounted ]; then
    unshare --mount true 2>/dev/null || exec "$@"
    exec unshare --mount "$BASH" "$0" mounted "$@"
fi
shift

# The copy $2 of the 64-bit library $1, which has $3 constructors (else nothing is done: it is another version, or such a copy), has the last
# three no more: DT_INIT_ARRAYSZ (27) of PT_DYNAMIC (2) says so.
without_clock() {
    python3 - "$@" <<'EOF'
import struct, sys
library = bytearray(open(sys.argv[1], "rb").read())
headers, = struct.unpack_from("<Q", library, 32)
header_bytes, count = struct.unpack_from("<HH", library, 54)
for header in range(headers, headers + count * header_bytes, header_bytes):
    kind, _, begin, _, _, size = struct.unpack_from("<IIQQQQ", library, header)
    for entry in range(begin, begin + size, 16) if kind == 2 else ():
        tag, value = struct.unpack_from("<QQ", library, entry)
        if tag == 27:
            value == 8 * int(sys.argv[3]) or sys.exit(1)
            struct.pack_into("<Q", library, entry + 8, value - 3 * 8)
open(sys.argv[2], "wb").write(library)
EOF
}

mount --bind /dev/null /proc/kallsyms
work=$(mktemp -d) || exec "$@"
brief() { # LIBRARY CONSTRUCTORS
    local place
    place=$(ldconfig -p | sed -n "s/.*x86-64.* => \(.*\/$1\)$/\1/p" | head -n 1)
    [ -n "$place" ] && place=$(readlink -f "$place") && without_clock "$place" "$work/$1" "$2" && chmod 644 "$work/$1" &&
        mount --bind "$work/$1" "$place"
}
brief libpsm2.so.2 8
brief libinfinipath.so.4 7
rm -rf "$work"
exec "$@"
