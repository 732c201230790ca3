/* SPDX-License-Identifier: BSD-3-Clause */
/* Freed handles of a debug build: see handle.h. */
#include "runtime/base/handle.h"
#ifdef HX_DEBUG
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KEPT = 4096, BUCKETS = 1024, POISON = 0xdb };

static struct grave {
    void *memory;
    struct grave *below; /* in its bucket */
    char text[120];
} graves[KEPT], *buckets[BUCKETS];
static unsigned next; /* the oldest */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct grave **bucket_of(const void *memory)
{
    return &buckets[(uintptr_t)memory / 16 % BUCKETS];
}

static void grave_empty(struct grave *grave)
{
    struct grave **link = bucket_of(grave->memory);

    while (*link != grave)
        link = &(*link)->below;
    *link = grave->below;
    free(grave->memory);
}

void hx_handle_free(void *handle, size_t bytes, const char *format, ...)
{
    struct grave *grave, **bucket = bucket_of(handle);
    va_list arguments;

    pthread_mutex_lock(&lock);
    grave = &graves[next++ % KEPT];
    if (grave->memory)
        grave_empty(grave);
    va_start(arguments, format);
    vsnprintf(grave->text, sizeof(grave->text), format, arguments);
    va_end(arguments);
    grave->memory = memset(handle, POISON, bytes);
    grave->below = *bucket;
    *bucket = grave;
    pthread_mutex_unlock(&lock);
}

const char *hx_handle_freed(const void *handle)
{
    static _Thread_local char text[sizeof(graves[0].text)];
    const char *found = NULL;

    pthread_mutex_lock(&lock);
    for (const struct grave *grave = *bucket_of(handle); grave && !found; grave = grave->below)
        if (grave->memory == handle)
            found = strcpy(text, grave->text);
    pthread_mutex_unlock(&lock);
    return found;
}
#endif
