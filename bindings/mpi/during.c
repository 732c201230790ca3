/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking calls of MPI that have no non-blocking form, such as MPI_Win_fence and MPI_Comm_split. While this process is in one of them, a
 * thread makes progress on the calls of Hierax. The thread starts at the first such call. It sleeps if there was none for a millisecond: to
 * wake it takes longer than a short call, such as MPI_Put.
 *
 * The thread calls only one function of MPI: MPI_Reduce_local, in a reduction with an operation of the program.
 */
#include "hxmpi.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { STEP_NS = 50000, STEPS_AWAKE = 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static enum { NONE, RUNS, FAILED, ENDS } state;
static int inside; /* threads of the program that are in such calls */
static unsigned long begun; /* such calls */
static int sleeps;

static void *thread_main(void *arg)
{
    unsigned long seen = 0;
    int idle = 0;

    (void)arg;
    pthread_mutex_lock(&mutex);
    while (state != ENDS) {
        const int works = inside || begun != seen;
        seen = begun;
        idle = works ? 0 : idle + 1;
        if (idle > STEPS_AWAKE) {
            sleeps = 1;
            pthread_cond_wait(&work, &mutex);
            sleeps = 0;
            continue;
        }
        pthread_mutex_unlock(&mutex);
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        if (works)
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
    inside++;
    begun++;
    if (sleeps)
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
