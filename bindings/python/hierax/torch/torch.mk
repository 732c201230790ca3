# SPDX-License-Identifier: BSD-3-Clause
# The backend of torch.distributed: a module in C++, built if configure finds PyTorch, and files of Python.
hxtorch_files = hierax/torch/__init__.py hierax/torch/hooks.py hierax/torch/launcher.py
hxtorch_parts = bindings/python/hierax/torch/alltoall.cpp bindings/python/hierax/torch/backend.cpp \
    bindings/python/hierax/torch/backend.h bindings/python/hierax/torch/buffers.cpp bindings/python/hierax/torch/buffers.h \
    bindings/python/hierax/torch/call.cpp bindings/python/hierax/torch/call.h bindings/python/hierax/torch/collectives.cpp \
    bindings/python/hierax/torch/completer.cpp bindings/python/hierax/torch/completer.h bindings/python/hierax/torch/lists.cpp \
    bindings/python/hierax/torch/messages.cpp \
    bindings/python/hierax/torch/module.cpp bindings/python/hierax/torch/pending.cpp bindings/python/hierax/torch/pending.h \
    bindings/python/hierax/torch/sparse.cpp \
    bindings/python/hierax/torch/types.cpp bindings/python/hierax/torch/types.h bindings/python/hierax/torch/world.cpp \
    bindings/python/hierax/torch/world.h
EXTRA_DIST += bindings/python/hierax/torch/README.md bindings/python/hierax/torch/flags.py $(hxtorch_parts) \
    $(addprefix bindings/python/,$(hxtorch_files))

if HAVE_TORCH
hxpy_torch_files = $(hxtorch_files)
noinst_LTLIBRARIES += bindings/python/hierax/libhxtorch.la
bindings_python_hierax_libhxtorch_la_SOURCES = bindings/python/hierax/torch/all.cpp
bindings_python_hierax_libhxtorch_la_CPPFLAGS = -I$(top_srcdir)/runtime $(HX_TORCH_CPPFLAGS) $(HX_PYTHON_CFLAGS)
bindings_python_hierax_libhxtorch_la_CXXFLAGS = $(HX_CXXFLAGS)

hxtorch_link = $(AM_V_CXXLD)$(CXX) $(HX_CXXFLAGS) $(CXXFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -Wl,-u,PyInit__backend \
    bindings/python/hierax/.libs/libhxtorch.a -L.libs -lhierax $(HX_TORCH_LIBS)
python/hierax/torch/_backend.so: bindings/python/hierax/libhxtorch.la libhierax.la
	@$(MKDIR_P) python/hierax/torch
	$(hxtorch_link) -Wl,-rpath,$(abs_builddir)/.libs -o $@
all-local: python/hierax/torch/_backend.so
CLEANFILES += python/hierax/torch/_backend.so

install-exec-local: install-torch
install-torch: python/hierax/torch/_backend.so
	$(MKDIR_P) "$(DESTDIR)$(hxpydir)/hierax/torch"
	$(hxtorch_link) $(if $(filter /usr/lib%,$(libdir)),,-Wl,-rpath,$(libdir)) -o "$(DESTDIR)$(hxpydir)/hierax/torch/_backend.so"
else
hxpy_torch_files =
EXTRA_DIST += bindings/python/hierax/torch/all.cpp
endif
