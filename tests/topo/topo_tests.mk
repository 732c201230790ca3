# SPDX-License-Identifier: BSD-3-Clause
check_programs_list += tests/topo/test_shape tests/topo/test_place tests/topo/test_nic tests/topo/test_helper tests/topo/test_ring_order
tests_topo_test_shape_SOURCES = tests/topo/test_shape.c
tests_topo_test_shape_LDADD = $(HX_TEST_LIBS)
tests_topo_test_place_SOURCES = tests/topo/test_place.c
tests_topo_test_place_LDADD = $(HX_TEST_LIBS)
tests_topo_test_nic_SOURCES = tests/topo/test_nic.c tests/topo/described.h
tests_topo_test_nic_LDADD = $(HX_TEST_LIBS)
tests_topo_test_ring_order_SOURCES = tests/topo/test_ring_order.c
tests_topo_test_ring_order_LDADD = $(HX_TEST_LIBS) -lm
tests_topo_test_helper_SOURCES = tests/topo/test_helper.c tests/topo/described.h
tests_topo_test_helper_LDADD = $(HX_TEST_LIBS)
