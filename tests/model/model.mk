# SPDX-License-Identifier: BSD-3-Clause
# The sleep/wake protocol, elections and agreements, checked exhaustively by spin.

dist_tests_list += tests/model/run.sh
EXTRA_DIST += tests/model/doorbell.pml tests/model/election.pml tests/model/agree.pml
