#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Run a command, and all that it starts, without what costs each process that loads Debian's libfabric up to 0.3 s and no test looks at:
# - libpsm2 and libinfinipath measure the speed of core 0's clock by sleeping there for 100 ms each: copies without these constructors
#   take their places. (Not without libinfinipath's signal handlers, which inter/signals.c is about.)
# - the verbs provider of some versions reads all of /proc/kallsyms: an empty file.
# For root, by a mount namespace of its own; for others, and where that cannot be, the command runs as it would by itself.
#   tests/brief.sh COMMAND [ARGUMENT...]
set -u

if [ "${1:-}" != mounted ]; then
    unshare --mount true 2>/dev/null || exec "$@"
    exec unshare --mount "$BASH" "$0" mounted "$@"
fi
shift

# The copy $2 of the 64-bit library $1 has its last three constructors no more: DT_INIT_ARRAYSZ (27) of PT_DYNAMIC (2) says so.
without_clock() {
    python3 - "$1" "$2" <<'EOF'
import struct, sys
library = bytearray(open(sys.argv[1], "rb").read())
headers, = struct.unpack_from("<Q", library, 32)
header_bytes, count = struct.unpack_from("<HH", library, 54)
for header in range(headers, headers + count * header_bytes, header_bytes):
    kind, _, begin, _, _, size = struct.unpack_from("<IIQQQQ", library, header)
    for entry in range(begin, begin + size, 16) if kind == 2 else ():
        tag, value = struct.unpack_from("<QQ", library, entry)
        if tag == 27:
            struct.pack_into("<Q", library, entry + 8, value - 3 * 8)
open(sys.argv[2], "wb").write(library)
EOF
}

work=$(mktemp -d)
mount --bind /dev/null /proc/kallsyms
for library in $(ldconfig -p | sed -n 's/.*x86-64.* => \(.*\/lib\(psm2\.so\.2\|infinipath\.so\.4\)\)$/\1/p'); do
    place=$(readlink -f "$library")
    without_clock "$place" "$work/library" && mount --bind "$work/library" "$place"
    rm -f "$work/library"
done
rmdir "$work"
exec "$@"
