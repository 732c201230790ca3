/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of the functions in blocking.c: blocking, non-blocking or persistent, with counts of int or MPI_Count. A form sets the name of a
 * function, its count type and its last arguments. The file that includes blocking.c chooses the form. */
#ifndef HXMPI_FORMS_H
#define HXMPI_FORMS_H

#include "started.h"

#ifndef HXMPI_LARGE
#define SUFFIX
typedef int count_t;
typedef int displ_t;
#else
#define SUFFIX _c
typedef MPI_Count count_t;
typedef MPI_Aint displ_t;
#endif

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#if defined(HXMPI_PREPARED)
#define INIT_(suffix) _init##suffix
#define INIT(suffix) INIT_(suffix)
#define FUNCTION(name) PASTE(HXMPI_PREPARED, name, INIT(SUFFIX))
#define PASS_ON(name, ...)                                                                                                           \
    (hxmpi_prepared_drop(&call), DURING(PASTE(HXMPI_PREPARED_BY_MPI, name, INIT(SUFFIX))(__VA_ARGS__, info, request)))
#define FORM HXMPI_PERSISTENT
#define REQUEST(declaration) , MPI_Info info, declaration
#define HX(name) hx_##name##_init
#define HX_COMM(call) (call)->started->own
#define HX_REQUEST , &call.started->request
#define SERVED(call, data, hx_call) prepared(call, data, hx_call, request)
#define PREPARE(call) (hxmpi_prepared_open(call) || declined(call, HXMPI_CAUSE_MEMBERS))
#define GRAPH_COMM(call) (call)->started->own
#elif !defined(HXMPI_STARTED)
#define FUNCTION(name) PASTE(MPI_, name, SUFFIX)
#define PASS_ON(name, ...)                                                                                                           \
    __extension__({                                                                                                                  \
        const int passed_ = DURING(PASTE(PMPI_, name, SUFFIX)(__VA_ARGS__));                                                         \
        hxmpi_stats_blocked(call.since);                                                                                             \
        passed_;                                                                                                                     \
    })
#define FORM HXMPI_BLOCKS
#define REQUEST(declaration) /* the last parameter */
#define HX(name) hx_##name
#define HX_COMM(call) (call)->of->comm
#define HX_REQUEST
#define PREPARE(call) 1
#define SERVED(call, data, hx_call) served(call, hx_call)
#else
#define NAME(name) STARTS_##name
#define FUNCTION(name) PASTE(MPI_, NAME(name), SUFFIX)
#define PASS_ON(name, ...) PASTE(PMPI_, NAME(name), SUFFIX)(__VA_ARGS__, request)
#define FORM HXMPI_STARTS
#define REQUEST(declaration) , declaration
#define HX(name) hx_i##name
#define HX_COMM(call) (call)->of->comm
#define PREPARE(call) 1
#define HX_REQUEST , &call.started->request
#define SERVED(call, data, hx_call) (hxmpi_started_open(call, data) ? started(call, hx_call, request) : no_memory(call))
#endif
#ifndef GRAPH_COMM
#define GRAPH_COMM(call) (call)->graph->comm
#endif
#if defined(HXMPI_PREPARED) || defined(HXMPI_STARTED) /* for a function that several collectives share */
#define GRAPH_PARAMETER , MPI_Request *request
#define GRAPH_LAST , request
#define GRAPH_REQUEST , &call->started->request
#else
#define GRAPH_PARAMETER
#define GRAPH_LAST
#define GRAPH_REQUEST
#endif
#define CALL(name) {.what = HXMPI_##name + FORM * HXMPI_NCOLLECTIVES, .comm = comm, .since = hxmpi_stats_since()}

#endif
