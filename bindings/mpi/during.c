/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking calls of MPI that have no non-blocking form, such as MPI_Win_fence and MPI_Comm_split. While this process is in one of them, a
 * thread makes progress on the calls of Hierax. The thread starts at the first such call, and sleeps between them.
 *
 * The thread calls only one function of MPI: MPI_Reduce_local, in a reduction with an operation of the program.
 */
#include "hxmpi.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define STEP_NS 50000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static enum { NONE, RUNS, FAILED, ENDS } state;
static int inside; /* threads of the program that are in such calls */

static void *thread_main(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    while (state != ENDS) {
        if (!inside) {
            pthread_cond_wait(&work, &mutex);
            continue;
        }
        pthread_mutex_unlock(&mutex);
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        hx_progress();
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void thread_start(void)
{
    sigset_t all, old;

    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    state = pthread_create(&thread, NULL, thread_main, NULL) ? FAILED : RUNS;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (state == FAILED)
        hxmpi_say("cannot start a thread: started collectives make no progress during calls like MPI_Win_fence");
}

void hxmpi_during_begin(void)
{
    pthread_mutex_lock(&mutex);
    if (state == NONE)
        thread_start();
    if (inside++ == 0)
        pthread_cond_signal(&work);
    pthread_mutex_unlock(&mutex);
}

void hxmpi_during_end(void)
{
    pthread_mutex_lock(&mutex);
    inside--;
    pthread_mutex_unlock(&mutex);
}

void hxmpi_during_finish(void)
{
    pthread_mutex_lock(&mutex);
    const int runs = state == RUNS;
    state = ENDS;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&mutex);
    if (runs)
        pthread_join(thread, NULL);
}
