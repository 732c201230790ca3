/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of hierax.h as text, "0.3.2". */
#pragma once

#include "runtime/hierax.h"

#define HX_TEXT_OF(number) HX_TEXT_AS(number) /* a second macro, because # does not expand its argument */
#define HX_TEXT_AS(value) #value
#define HX_VERSION_TEXT HX_TEXT_OF(HX_VERSION_MAJOR) "." HX_TEXT_OF(HX_VERSION_MINOR) "." HX_TEXT_OF(HX_VERSION_PATCH)
