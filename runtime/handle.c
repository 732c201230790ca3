/* SPDX-License-Identifier: BSD-3-Clause */
/* Freed handles of a debug build: see handle.h. */
#include "handle.h"
#ifdef HX_DEBUG
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { KEPT = 4096, POISON = 0xdb };

static struct {
    void *memory;
    char text[120];
} graves[KEPT];
static unsigned next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hx_handle_free(void *handle, size_t bytes, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&lock);
    free(graves[next].memory); /* the oldest */
    va_start(arguments, format);
    vsnprintf(graves[next].text, sizeof(graves[next].text), format, arguments);
    va_end(arguments);
    graves[next].memory = memset(handle, POISON, bytes);
    next = (next + 1) % KEPT;
    pthread_mutex_unlock(&lock);
}

const char *hx_handle_freed(const void *handle)
{
    static _Thread_local char text[sizeof(graves[0].text)];
    const char *found = NULL;

    pthread_mutex_lock(&lock);
    for (int i = 0; handle && i < KEPT && !found; i++)
        if (graves[i].memory == handle)
            found = strcpy(text, graves[i].text);
    pthread_mutex_unlock(&lock);
    return found;
}
#endif
