/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys derived from the job's secret, one for each use: a key that leaks does not reveal the others. */
#ifndef HX_BOOTSTRAP_SECRET_H
#define HX_BOOTSTRAP_SECRET_H
#include "runtime/bootstrap/bootstrap.h"

#define HX_KEY_BYTES 32

enum hx_key_use { HX_KEY_FABRIC = 1 }; /* proofs of messages between nodes. Never reuse a number */

void hx_key_derive(const unsigned char secret[HX_SECRET_BYTES], enum hx_key_use use, unsigned char key[HX_KEY_BYTES]);

#endif
