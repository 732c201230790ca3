/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys from the job's secret: one for each use, so that what one of them reveals helps nobody with another. */
#ifndef HX_SECRET_H
#define HX_SECRET_H
#include "bootstrap.h"

#define HX_KEY_BYTES 32

enum hx_key_use { HX_KEY_FABRIC = 1 }; /* proofs of messages between nodes; numbers are never used anew */

void hx_key_derive(const unsigned char secret[HX_SECRET_BYTES], enum hx_key_use use, unsigned char key[HX_KEY_BYTES]);

#endif
