# SPDX-License-Identifier: BSD-3-Clause
# Who is where: shapes, places, network interfaces.

hx_sources += topo/shape.c topo/shape.h topo/levels.c topo/place.c topo/place.h topo/machine.h topo/cores.c topo/cores.h topo/cgroup.c topo/cgroup.h \
    topo/nic.c topo/nic.h topo/nic_kernel.c topo/nic_rdma.c topo/ring_order.c topo/ring_order.h

hx_sources += topo/cpu_model.c topo/cpu_model.h topo/helper.c topo/helper.h

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
