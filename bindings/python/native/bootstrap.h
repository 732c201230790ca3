/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own bootstrap, an object of Python, as callbacks for hx_init_with. */
#ifndef HXPY_BOOTSTRAP_H
#define HXPY_BOOTSTRAP_H

#include "native.h"

int hxpy_bootstrap_get(PyObject *object, hx_bootstrap_t *bootstrap); /* object must outlive *bootstrap; -1 with an exception */

#endif
