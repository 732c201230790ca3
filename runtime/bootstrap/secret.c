/* SPDX-License-Identifier: BSD-3-Clause */
/* See secret.h. */
#include "runtime/bootstrap/secret.h"
#include <sodium.h>

_Static_assert(HX_SECRET_BYTES == crypto_kdf_KEYBYTES, "what libsodium takes");

void hx_key_derive(const unsigned char secret[HX_SECRET_BYTES], enum hx_key_use use, unsigned char key[HX_KEY_BYTES])
{
    crypto_kdf_derive_from_key(key, HX_KEY_BYTES, (uint64_t)use, "hierax_1", secret);
}
