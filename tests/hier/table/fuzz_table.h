/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's function, which libFuzzer declares nowhere. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
