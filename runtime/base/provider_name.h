/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's native TCP has two names. HX_PROVIDER and tuning tables may have either. */
#pragma once

#define HX_TCP_NAME "tcp"
#define HX_TCP_NAME_BEFORE "net" /* in libfabric 1.17, where tcp is a provider that Hierax cannot use */
