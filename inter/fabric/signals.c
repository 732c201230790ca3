/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that crashes dumps core, and one that is interrupted ends by that signal, although it links libfabric:
 * Debian's loads libinfinipath, which while it is loaded installs handlers for the signals below. They exit with
 * status 1 and leave a *.btr file. What they replaced is not told, so it is taken to have been the default.
 *
 * A constructor, the only one: it runs after those of the libraries that this one needs, and before the program's main,
 * which may install handlers of its own. Whoever waited for hx_init would leave the time before it, and programs that
 * never call it, to libinfinipath. coll_run sets IPATH_NO_BACKTRACE, so that its ranks have what they had before.
 */
#include "inter/fabric/fabric.h"
#include <dlfcn.h>
#include <signal.h>
#include <string.h>

static int is_of_infinipath(const struct sigaction *action)
{
    const void *handler;
    Dl_info place;

    memcpy(&handler, &action->sa_handler, sizeof(handler)); /* a function is no object for ISO C; sa_sigaction shares its place */
    return dladdr(handler, &place) && place.dli_fname && strstr(place.dli_fname, "libinfinipath");
}

__attribute__((constructor)) void hx_signals_restore(void)
{
    static const int signals[] = {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM};
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    struct sigaction action;

    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
        if (sigaction(signals[i], NULL, &action) == 0 && is_of_infinipath(&action))
            sigaction(signals[i], &by_default, NULL);
}
