/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's function, which libFuzzer declares nowhere. */
#ifndef HX_FUZZ_TABLE_H
#define HX_FUZZ_TABLE_H
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
