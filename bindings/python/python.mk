# SPDX-License-Identifier: BSD-3-Clause
# The package hierax for Python: the extension module, and files of Python. `make` puts both together in python/ of the build
# folder, so PYTHONPATH=python serves there. Other folders below hierax/ add their files to hxpy_files.
hxpy_files = hierax/__init__.py hierax/__init__.pyi hierax/_dtypes.py hierax/_errors.py hierax/_process.py hierax/_requests.py \
    hierax/_state.py hierax/elastic.py hierax/elastic.pyi hierax/info.py hierax/py.typed
EXTRA_DIST += bindings/python/README.md bindings/python/pyproject.toml bindings/python/setup.py \
    $(addprefix bindings/python/,$(hxpy_files))
hxpy_files += $(hxpy_torch_files)

hxpy_sources = bindings/python/native/arrays.c bindings/python/native/bootstrap.c bindings/python/native/bootstrap.h bindings/python/native/call.c \
    bindings/python/native/call.h bindings/python/native/collectives.def bindings/python/native/comm.c \
    bindings/python/native/dlpack.c bindings/python/native/dtypes.c bindings/python/native/errors.c bindings/python/native/group.c \
    bindings/python/native/issue.c bindings/python/native/listed.c bindings/python/native/lists.c \
    bindings/python/native/making.c bindings/python/native/making.h \
    bindings/python/native/memory.c bindings/python/native/messages.c bindings/python/native/messages.h \
    bindings/python/native/methods.c bindings/python/native/module.c \
    bindings/python/native/native.h bindings/python/native/numpy_arrays.c bindings/python/native/op.c \
    bindings/python/native/regular.c bindings/python/native/request.c bindings/python/native/state.c \
    bindings/python/native/state.h bindings/python/native/types.c \
    bindings/python/native/view.c bindings/python/native/worlds.c bindings/python/native/worlds.h

if HAVE_PYTHON
hxpydir = $(pythondir)
noinst_LTLIBRARIES += bindings/python/libhxpy.la
bindings_python_libhxpy_la_SOURCES = $(hxpy_sources)
bindings_python_libhxpy_la_CPPFLAGS = -I$(top_srcdir)/runtime -D_GNU_SOURCE= $(HX_CPPFLAGS) $(HX_PYTHON_CFLAGS)

# A module of Python is no library, and has undefined names, those of the interpreter: libtool is left out.
hxpy_link = $(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -shared -Wl,-u,PyInit__native \
    bindings/python/.libs/libhxpy.a -L.libs -lhierax
python/hierax/_native.so: bindings/python/libhxpy.la libhierax.la
	@$(MKDIR_P) python/hierax
	$(hxpy_link) -Wl,-rpath,$(abs_builddir)/.libs -o $@.tmp && mv -f $@.tmp $@
$(addprefix python/,$(hxpy_files)): python/%: $(srcdir)/bindings/python/%
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)cp -f $< $@
hxpy_built = python/hierax/_native.so $(addprefix python/,$(hxpy_files))
all-local: $(hxpy_built)
CLEANFILES += $(hxpy_built)
mostlyclean-local:
	rm -rf python

# The installed module finds the library without LD_LIBRARY_PATH. The loader knows the folders in /usr/lib by itself.
install-exec-local: $(hxpy_built)
	$(MKDIR_P) "$(DESTDIR)$(hxpydir)/hierax"
	$(hxpy_link) $(if $(filter /usr/lib%,$(libdir)),,-Wl,-rpath,$(libdir)) -o "$(DESTDIR)$(hxpydir)/hierax/_native.so"
	for file in $(hxpy_files); do \
	    $(MKDIR_P) "$(DESTDIR)$(hxpydir)/$${file%/*}" && \
	    $(INSTALL_DATA) "$(srcdir)/bindings/python/$$file" "$(DESTDIR)$(hxpydir)/$$file" || exit 1; \
	done
hx_uninstalls += uninstall-python
uninstall-python:
	rm -rf "$(DESTDIR)$(hxpydir)/hierax"
else
EXTRA_DIST += $(hxpy_sources)
endif
