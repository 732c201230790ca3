# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/topo/test_shape tests/topo/test_place tests/topo/test_nic tests/topo/test_helper tests/topo/test_ring_order
noinst_HEADERS += tests/topo/described.h tests/topo/group.h
