#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All cases of the endpoint and of forged messages, over the conformance provider with every misbehaviour switched on: one device, then three.
: "${top_builddir:?run me by make check}"
unset "${!HX_@}" "${!EFA_@}"
export XDG_CACHE_HOME=/dev/null # nothing is written to the user's cache
export EFA_SEED=${TEST_SEED:-1} FI_PROVIDER_PATH=$top_builddir/tests/efa_provider/.libs TEST_PROVIDER=efa EFA_WORST=all
"$top_builddir/tests/inter/fabric/test_forged" && "$top_builddir/tests/inter/fabric/test_endpoint" && EFA_NICS=3 "$top_builddir/tests/inter/fabric/test_endpoint"
