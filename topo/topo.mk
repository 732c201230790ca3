hx_sources += topo/shape.c topo/shape.h

check_programs_list += tests/topo/test_shape
tests_topo_test_shape_SOURCES = tests/topo/test_shape.c
tests_topo_test_shape_LDADD = $(HX_TEST_LIBS)
