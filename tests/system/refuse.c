/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: memfd_create fails as a container's filter would make it, with the errno in REFUSE. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int memfd_create(const char *name, unsigned int flags)
{
    const char *number = getenv("REFUSE");

    (void)name;
    (void)flags;
    errno = number ? atoi(number) : EPERM;
    return -1;
}
