/* SPDX-License-Identifier: BSD-3-Clause */
/* One client's connection to the store's server: assembles frames and queues answers. store_requests.c gives them their meaning. A
 * failed connection is only marked dead, and the server releases it. */
#include "runtime/bootstrap/store_server.h"
#include "runtime/hierax.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STRANGER_VALUE_MAX_BYTES 64 /* before HELLO */

static void watch(struct hx_store_client *client, int operation)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};

    if (client->out_bytes > client->sent_bytes)
        event.events |= EPOLLOUT;
    epoll_ctl(client->epoll_fd, operation, client->fd, &event);
}

struct hx_store_client *hx_store_client_open(int fd, int epoll_fd, int ends_fd)
{
    struct epoll_event end = {.events = EPOLLRDHUP};
    struct hx_store_client *client = calloc(1, sizeof *client);

    if (!client) {
        close(fd);
        return NULL;
    }
    hx_store_socket_tune(fd);
    client->fd = fd;
    client->epoll_fd = epoll_fd;
    client->rank = -1;
    watch(client, EPOLL_CTL_ADD);
    end.data.ptr = client;
    epoll_ctl(ends_fd, EPOLL_CTL_ADD, fd, &end);
    return client;
}

void hx_store_client_close(struct hx_store_client *client)
{
    close(client->fd);
    free(client->body);
    free(client->out);
    free(client);
}

void hx_store_client_flush(struct hx_store_client *client)
{
    while (client->sent_bytes < client->out_bytes) {
        const ssize_t n = send(client->fd, client->out + client->sent_bytes, client->out_bytes - client->sent_bytes,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            client->dead |= errno != EAGAIN;
            break;
        }
        client->sent_bytes += (size_t)n;
    }
    if (client->sent_bytes == client->out_bytes) {
        client->sent_bytes = client->out_bytes = 0;
        client->dead |= client->closing;
    }
    watch(client, EPOLL_CTL_MOD);
}

void hx_store_client_answer(struct hx_store_client *client, enum hx_store_op op, uint32_t status, const void *value,
                            size_t bytes)
{
    const size_t needed = client->out_bytes + sizeof(struct hx_store_frame) + bytes + HX_STORE_SEAL_BYTES;

    if (needed > client->out_capacity) {
        char *bigger = realloc(client->out, needed);

        if (!bigger) {
            client->dead = 1; /* the client sees a closed connection */
            return;
        }
        client->out = bigger;
        client->out_capacity = needed;
    }
    client->out_bytes += hx_store_frame_write(client->out + client->out_bytes, client->sealed ? &client->keys.from_store : NULL,
                                              op, status, NULL, 0, value, bytes);
    hx_store_client_flush(client);
}

void hx_store_client_refuse(struct hx_store_client *client, const char *format, ...)
{
    char text[HX_STORE_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    client->closing = 1;
    hx_store_client_answer(client, client->sealed ? client->head.op : HX_STORE_REFUSE, HX_ERR_BOOTSTRAP, text, strlen(text));
}

static size_t body_bytes(const struct hx_store_client *client)
{
    return (size_t)client->head.key_bytes + client->head.value_bytes + (client->sealed ? HX_STORE_SEAL_BYTES : 0);
}

/* The header is complete: check it, and allocate the body. */
static int accept_head(struct hx_store_client *client)
{
    struct hx_store_frame *head = &client->head;
    const uint32_t key_max_bytes = client->rank < 0 ? 0 : HX_STORE_KEY_MAX_BYTES;
    const uint32_t value_max_bytes = client->rank < 0 ? STRANGER_VALUE_MAX_BYTES : HX_STORE_VALUE_MAX_BYTES;

    *head = hx_store_frame_swap(head);
    if ((head->magic & 0xffff0000u) != HX_STORE_MAGIC) {
        client->dead = 1; /* not a client of Hierax */
        return 0;
    }
    if ((head->magic & 0xffffu) != HX_STORE_VERSION) {
        hx_store_client_refuse(client, "the store speaks protocol version %u, this process %u",
                               HX_STORE_VERSION, head->magic & 0xffffu);
        return 0;
    }
    if (head->key_bytes > key_max_bytes || head->value_bytes > value_max_bytes) {
        hx_store_client_refuse(client,
                               "the store refuses a request with %u bytes of key and %u of value", head->key_bytes,
                               head->value_bytes);
        return 0;
    }
    client->body = malloc(body_bytes(client) + 1);
    client->dead |= !client->body;
    return client->body != NULL;
}

/* The body is complete. A frame with a wrong seal ends the connection, and so the job. */
static int accept_body(struct hx_store_client *client)
{
    const struct hx_store_frame head = hx_store_frame_swap(&client->head);

    if (client->sealed &&
        hx_store_unseal(&client->keys.from_client, &head, client->body, body_bytes(client) - HX_STORE_SEAL_BYTES) < 0)
        client->dead = 1;
    return !client->dead;
}

int hx_store_client_read(struct hx_store_client *client)
{
    const size_t head_bytes = sizeof client->head;

    while (!client->dead && !client->closing) {
        const int in_head = client->got_bytes < head_bytes;
        const size_t missing = (in_head ? head_bytes : head_bytes + body_bytes(client)) - client->got_bytes;
        char *to =
            in_head ? (char *)&client->head + client->got_bytes : client->body + (client->got_bytes - head_bytes);
        const ssize_t n = recv(client->fd, to, missing, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            client->dead = 1;
            return 0;
        }
        client->got_bytes += (size_t)n;
        if (in_head && client->got_bytes == head_bytes && !accept_head(client))
            return 0;
        if (client->got_bytes >= head_bytes && client->got_bytes == head_bytes + body_bytes(client))
            return accept_body(client);
    }
    return 0;
}

void hx_store_client_consume(struct hx_store_client *client)
{
    free(client->body);
    client->body = NULL;
    client->got_bytes = 0;
}
