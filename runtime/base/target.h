/* SPDX-License-Identifier: BSD-3-Clause */
/* Code for CPUs with more instructions than others of their architecture have, in GCC's and in clang's words. */
#pragma once

#define TARGET_PRAGMA(...) _Pragma(#__VA_ARGS__)
#if defined(__clang__)
#define TARGET_BEGIN(isa) TARGET_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define TARGET_END TARGET_PRAGMA(clang attribute pop)
#else
#define TARGET_BEGIN(isa) TARGET_PRAGMA(GCC push_options) TARGET_PRAGMA(GCC target(isa))
#define TARGET_END TARGET_PRAGMA(GCC pop_options)
#endif

#if defined(__x86_64__)
#include <cpuid.h>

static inline int hx_cpu_has_f16c(void) /* clang 14's __builtin_cpu_supports does not know the name */
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & bit_F16C;
}
#endif
