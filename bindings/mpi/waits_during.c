/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's calls that may wait for other ranks, and that have no non-blocking form: see during.c. */
#include "hxmpi.h"

#define ROW_OF(name, parameters, call)                                                                                               \
    int name parameters                                                                                                              \
    {                                                                                                                                \
        return DURING(call);                                                                                                         \
    }
#define ROW(name, parameters, arguments) ROW_OF(MPI_##name, parameters, PMPI_##name arguments)

/* ---- calls that MPI 4 has twice: with counts of int, and of MPI_Count */

#define COUNTED(count_t, unit_t, suffix)                                                                                             \
    ROW(Buffer_detach##suffix, (void *buffer, count_t *size), (buffer, size))                                                        \
    ROW(Sendrecv_replace##suffix,                                                                                                    \
        (void *buffer, count_t count, MPI_Datatype type, int to, int sendtag, int from, int recvtag, MPI_Comm comm,                  \
         MPI_Status *status),                                                                                                        \
        (buffer, count, type, to, sendtag, from, recvtag, comm, status))                                                             \
    ROW(Win_create##suffix, (void *base, MPI_Aint bytes, unit_t unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),                   \
        (base, bytes, unit, info, comm, win))                                                                                        \
    ROW(Win_allocate##suffix, (MPI_Aint bytes, unit_t unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),                 \
        (bytes, unit, info, comm, base, win))                                                                                        \
    ROW(Win_allocate_shared##suffix, (MPI_Aint bytes, unit_t unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),          \
        (bytes, unit, info, comm, base, win))

COUNTED(int, int, )
#if MPI_VERSION >= 4
COUNTED(MPI_Count, MPI_Aint, _c)
#endif

/* ---- communicators */

/* All ranks of the new communicator are in this call. So this is a good moment to make the one of Hierax. */
#define NEW(name, parameters, arguments)                                                                                             \
    int MPI_##name parameters                                                                                                        \
    {                                                                                                                                \
        const int rc = DURING(PMPI_##name arguments);                                                                                \
        if (rc == MPI_SUCCESS)                                                                                                       \
            hxmpi_comm_new(*out);                                                                                                    \
        return rc;                                                                                                                   \
    }

NEW(Comm_dup, (MPI_Comm comm, MPI_Comm *out), (comm, out))
NEW(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *out), (comm, info, out))
NEW(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out))
NEW(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out), (comm, type, key, info, out))
NEW(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *out), (comm, group, out))
NEW(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out), (comm, group, tag, out))
ROW(Comm_free, (MPI_Comm *comm), (comm))
ROW(Comm_disconnect, (MPI_Comm *comm), (comm))
ROW(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info))
ROW(Intercomm_create, (MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *out),
    (local, local_leader, peer, remote_leader, tag, out))
NEW(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *out), (comm, high, out))
NEW(Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *out),
    (comm, n, dims, periods, reorder, out))
NEW(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *out), (comm, remain, out))
NEW(Graph_create, (MPI_Comm comm, int n, const int indices[], const int edges[], int reorder, MPI_Comm *out),
    (comm, n, indices, edges, reorder, out))
NEW(Dist_graph_create,
    (MPI_Comm comm, int n, const int sources[], const int degrees[], const int targets[], const int weights[], MPI_Info info, int reorder,
     MPI_Comm *out),
    (comm, n, sources, degrees, targets, weights, info, reorder, out))
NEW(Dist_graph_create_adjacent,
    (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree, const int targets[],
     const int targetweights[], MPI_Info info, int reorder, MPI_Comm *out),
    (comm, indegree, sources, sourceweights, outdegree, targets, targetweights, info, reorder, out))
ROW(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *out), (port, info, root, comm, out))
ROW(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *out), (port, info, root, comm, out))
ROW(Comm_join, (int fd, MPI_Comm *out), (fd, out))
ROW(Comm_spawn, (const char *command, char *argv[], int n, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *out, int errors[]),
    (command, argv, n, info, root, comm, out, errors))
ROW(Comm_spawn_multiple,
    (int count, char *commands[], char **argvs[], const int ns[], const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *out,
     int errors[]),
    (count, commands, argvs, ns, infos, root, comm, out, errors))
#if HXMPI_HAS_SESSIONS
NEW(Comm_create_from_group, (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler, MPI_Comm *out),
    (group, tag, info, handler, out))
ROW(Intercomm_create_from_groups,
    (MPI_Group local, int local_leader, MPI_Group remote, int remote_leader, const char *tag, MPI_Info info, MPI_Errhandler handler,
     MPI_Comm *out),
    (local, local_leader, remote, remote_leader, tag, info, handler, out))
ROW(Session_finalize, (MPI_Session *session), (session))
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
ROW(Buffer_flush, (void), ())
ROW(Comm_flush_buffer, (MPI_Comm comm), (comm))
ROW(Session_flush_buffer, (MPI_Session session), (session))
ROW(Comm_detach_buffer, (MPI_Comm comm, void *buffer, int *size), (comm, buffer, size))
ROW(Comm_detach_buffer_c, (MPI_Comm comm, void *buffer, MPI_Count *size), (comm, buffer, size))
ROW(Session_detach_buffer, (MPI_Session session, void *buffer, int *size), (session, buffer, size))
ROW(Session_detach_buffer_c, (MPI_Session session, void *buffer, MPI_Count *size), (session, buffer, size))
#endif
#ifdef HXMPI_HAS_SHRINK
ROW_OF(MPIX_Comm_agree, (MPI_Comm comm, int *flag), PMPIX_Comm_agree(comm, flag))
ROW_OF(MPIX_Comm_shrink, (MPI_Comm comm, MPI_Comm *out), PMPIX_Comm_shrink(comm, out))
#endif

/* ---- windows */

ROW(Win_set_info, (MPI_Win win, MPI_Info info), (win, info))
ROW(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
ROW(Win_free, (MPI_Win *win), (win))
ROW(Win_fence, (int assertion, MPI_Win win), (assertion, win))
ROW(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))
ROW(Win_complete, (MPI_Win win), (win))
ROW(Win_lock, (int type, int rank, int assertion, MPI_Win win), (type, rank, assertion, win))
ROW(Win_lock_all, (int assertion, MPI_Win win), (assertion, win))
ROW(Win_unlock, (int rank, MPI_Win win), (rank, win))
ROW(Win_unlock_all, (MPI_Win win), (win))
ROW(Win_flush, (int rank, MPI_Win win), (rank, win))
ROW(Win_flush_all, (MPI_Win win), (win))
ROW(Win_flush_local, (int rank, MPI_Win win), (rank, win))
ROW(Win_flush_local_all, (MPI_Win win), (win))

/* MPI lets an access wait for the epoch of its target, if the call that opens the epoch here has not waited. */
#define ACCESSES(count_t, suffix)                                                                                                    \
    ROW(Put##suffix,                                                                                                                 \
        (const void *from, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Win win), \
        (from, n, type, rank, at, there, type_there, win))                                                                           \
    ROW(Get##suffix,                                                                                                                 \
        (void *to, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Win win),        \
        (to, n, type, rank, at, there, type_there, win))                                                                             \
    ROW(Accumulate##suffix,                                                                                                          \
        (const void *from, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Op op,   \
         MPI_Win win),                                                                                                               \
        (from, n, type, rank, at, there, type_there, op, win))                                                                       \
    ROW(Get_accumulate##suffix,                                                                                                      \
        (const void *from, count_t n, MPI_Datatype type, void *to, count_t got, MPI_Datatype type_got, int rank, MPI_Aint at,        \
         count_t there, MPI_Datatype type_there, MPI_Op op, MPI_Win win),                                                            \
        (from, n, type, to, got, type_got, rank, at, there, type_there, op, win))                                                    \
    ROW(Rput##suffix,                                                                                                                \
        (const void *from, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Win win, \
         MPI_Request *request),                                                                                                      \
        (from, n, type, rank, at, there, type_there, win, request))                                                                  \
    ROW(Rget##suffix,                                                                                                                \
        (void *to, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Win win,         \
         MPI_Request *request),                                                                                                      \
        (to, n, type, rank, at, there, type_there, win, request))                                                                    \
    ROW(Raccumulate##suffix,                                                                                                         \
        (const void *from, count_t n, MPI_Datatype type, int rank, MPI_Aint at, count_t there, MPI_Datatype type_there, MPI_Op op,   \
         MPI_Win win, MPI_Request *request),                                                                                         \
        (from, n, type, rank, at, there, type_there, op, win, request))                                                              \
    ROW(Rget_accumulate##suffix,                                                                                                     \
        (const void *from, count_t n, MPI_Datatype type, void *to, count_t got, MPI_Datatype type_got, int rank, MPI_Aint at,        \
         count_t there, MPI_Datatype type_there, MPI_Op op, MPI_Win win, MPI_Request *request),                                      \
        (from, n, type, to, got, type_got, rank, at, there, type_there, op, win, request))

ACCESSES(int, )
#if MPI_VERSION >= 4
ACCESSES(MPI_Count, _c)
#endif
ROW(Fetch_and_op, (const void *from, void *to, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op, MPI_Win win),
    (from, to, type, rank, at, op, win))
ROW(Compare_and_swap, (const void *from, const void *compared, void *to, MPI_Datatype type, int rank, MPI_Aint at, MPI_Win win),
    (from, compared, to, type, rank, at, win))

/* ---- files: all that is collective */

ROW(File_set_info, (MPI_File file, MPI_Info info), (file, info))

ROW(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file), (comm, name, mode, info, file))
ROW(File_close, (MPI_File *file), (file))
ROW(File_set_size, (MPI_File file, MPI_Offset bytes), (file, bytes))
ROW(File_preallocate, (MPI_File file, MPI_Offset bytes), (file, bytes))
ROW(File_set_view, (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char *representation, MPI_Info info),
    (file, at, element, type, representation, info))
ROW(File_seek_shared, (MPI_File file, MPI_Offset at, int whence), (file, at, whence))
ROW(File_set_atomicity, (MPI_File file, int flag), (file, flag))
ROW(File_sync, (MPI_File file), (file))
#define TRANSFERS(count_t, suffix)                                                                                                   \
    ROW(File_read_all##suffix, (MPI_File file, void *data, count_t n, MPI_Datatype type, MPI_Status *status),                        \
        (file, data, n, type, status))                                                                                               \
    ROW(File_read_all_begin##suffix, (MPI_File file, void *data, count_t n, MPI_Datatype type),                                      \
        (file, data, n, type))                                                                                                       \
    ROW(File_read_ordered##suffix, (MPI_File file, void *data, count_t n, MPI_Datatype type, MPI_Status *status),                    \
        (file, data, n, type, status))                                                                                               \
    ROW(File_read_ordered_begin##suffix, (MPI_File file, void *data, count_t n, MPI_Datatype type),                                  \
        (file, data, n, type))                                                                                                       \
    ROW(File_read_at_all##suffix, (MPI_File file, MPI_Offset at, void *data, count_t n, MPI_Datatype type, MPI_Status *status),      \
        (file, at, data, n, type, status))                                                                                           \
    ROW(File_read_at_all_begin##suffix, (MPI_File file, MPI_Offset at, void *data, count_t n, MPI_Datatype type),                    \
        (file, at, data, n, type))                                                                                                   \
    ROW(File_write_all##suffix, (MPI_File file, const void *data, count_t n, MPI_Datatype type, MPI_Status *status),                 \
        (file, data, n, type, status))                                                                                               \
    ROW(File_write_all_begin##suffix, (MPI_File file, const void *data, count_t n, MPI_Datatype type),                               \
        (file, data, n, type))                                                                                                       \
    ROW(File_write_ordered##suffix, (MPI_File file, const void *data, count_t n, MPI_Datatype type, MPI_Status *status),             \
        (file, data, n, type, status))                                                                                               \
    ROW(File_write_ordered_begin##suffix, (MPI_File file, const void *data, count_t n, MPI_Datatype type),                           \
        (file, data, n, type))                                                                                                       \
    ROW(File_write_at_all##suffix,                                                                                                   \
        (MPI_File file, MPI_Offset at, const void *data, count_t n, MPI_Datatype type, MPI_Status *status),                          \
        (file, at, data, n, type, status))                                                                                           \
    ROW(File_write_at_all_begin##suffix, (MPI_File file, MPI_Offset at, const void *data, count_t n, MPI_Datatype type),             \
        (file, at, data, n, type))

TRANSFERS(int, )
#if MPI_VERSION >= 4
TRANSFERS(MPI_Count, _c)
#endif
ROW(File_read_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
ROW(File_write_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
ROW(File_read_at_all_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
ROW(File_write_at_all_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
ROW(File_read_ordered_end, (MPI_File file, void *buffer, MPI_Status *status), (file, buffer, status))
ROW(File_write_ordered_end, (MPI_File file, const void *buffer, MPI_Status *status), (file, buffer, status))
