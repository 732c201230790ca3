/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How ranks sleep and are woken, as a Promela model that spin checks exhaustively: 3 ranks, 2 epochs, store buffers.
 * (run.sh runs it.)
 *
 *   publish epoch e                          await epoch e of all others
 *   ---------------                          ---------------------------
 *   P1  store payload, epoch[me] = e         A0  look: all epochs >= e? then done
 *   P2  FULL FENCE                           A1  d = doorbell[me]
 *   P3  for each other rank q:               A2  store flag[me] = 1
 *         if flag[q] is set:                 A3  FULL FENCE
 *   P4      atomically doorbell[q] += 1      A4  look again: all there? then go to A6
 *   P5      futex_wake(doorbell[q])          A5  futex_wait(doorbell[me], d): returns at once when doorbell[me] != d
 *                                            A6  store flag[me] = 0, go to A0
 *
 * What pairs with what (runtime/engine/wait.h calls the fences F1 and F2):
 *   P2 with A3   Store, fence, load on both sides: P1 is visible before P3 reads the flag, A2 before A4 reads the
 *                epochs. So at least one side sees the other: the sleeper the epoch, or the producer the flag. Take one
 *                fence away and that side's load may overtake its store, which waits in the store buffer: the producer
 *                sees no flag, the sleeper no epoch, and the wake-up is lost.
 *   A4 with P1   The epoch may have come between A0 and A2, when the flag did not show yet; nobody rings for it. Only
 *                the second look finds it.
 *   A1 with P4   The doorbell is read before the second look. A ring after A1 makes A5 return; a ring before A1 belongs
 *                to an epoch that A4 sees. Read after A4, a ring in between would be taken for an old one. (A3 also
 *                keeps A1 before A4.)
 *   A6           needs no fence: a flag seen too long costs one needless ring.
 *
 * The machine: each rank's stores wait in its buffer, one queue per location, and drain at any later time, in any order
 * between locations. That is weaker than x86 (one queue for all), so what holds here holds there, and it does not rest
 * on the order of stores. The atomic addition does not drain the buffer of the rank that rings, though x86 would. Loads
 * are not reordered with loads: the code reads with acquire order. A rank never reads a location of its own that it
 * stores to, so loads need not look into the buffer.
 *
 * Left out, and why that is sound:
 *   payload      the epoch is stored with release order and stands for it; that has nothing to do with sleeping
 *   spinning     only repeats A0
 *   one look     reads all epochs in one step: they only grow, so the outcome is that of the moment of its last read
 *   wrap-around  of the doorbell needs 2^32 rings between A1 and A5
 *
 * Property: no invalid end state, that is, every rank ends both epochs; no exit barrier covers for a lost wake-up. Each
 * of NO_PRODUCER_FENCE (P2), NO_SLEEPER_FENCE (A3), NO_SECOND_LOOK (A4), LATE_DOORBELL (A1 after A4) must break it.
 */

#define RANKS 3
#define EPOCHS 2

/* Memory, as all ranks see it. */
byte epoch[RANKS];
bit flag[RANKS];
byte doorbell[RANKS];
bit asleep[RANKS]; /* the kernel's queue of the doorbell: one sleeper at most */

/* Store buffers. A full one blocks its rank until something has drained, as in a machine. */
chan epoch_buffer[RANKS] = [2] of { byte };
chan flag_buffer[RANKS] = [3] of { bit };

#define PEER_A ((me + 1) % RANKS)
#define PEER_B ((me + 2) % RANKS)
#define ALL_THERE (epoch[PEER_A] >= e && epoch[PEER_B] >= e)
#define FULL_FENCE (empty(epoch_buffer[me]) && empty(flag_buffer[me]))

inline ring_if_asleep(q)
{
    if                                      /* P3 */
    :: flag[q] ->
        doorbell[q] = doorbell[q] + 1;      /* P4: one step, hence atomic */
        asleep[q] = 0                       /* P5 */
    :: else
    fi
}

inline publish()
{
    epoch_buffer[me] ! e;                   /* P1 */
#ifndef NO_PRODUCER_FENCE
    FULL_FENCE;                             /* P2 */
#endif
    ring_if_asleep(PEER_A);
    ring_if_asleep(PEER_B)
}

inline futex_wait(seen)
{
    if                                      /* A5: the kernel compares and queues in one step */
    :: atomic { doorbell[me] == seen -> asleep[me] = 1 };
        !asleep[me]
    :: doorbell[me] != seen
    fi
}

inline await()
{
    do
    :: ALL_THERE -> break                   /* A0 */
    :: else ->
#ifndef LATE_DOORBELL
        d = doorbell[me];                   /* A1 */
#endif
        flag_buffer[me] ! 1;                /* A2 */
#ifndef NO_SLEEPER_FENCE
        FULL_FENCE;                         /* A3 */
#endif
#ifdef NO_SECOND_LOOK
        futex_wait(d);
#else
        if                                  /* A4 */
        :: ALL_THERE
        :: else ->
#ifdef LATE_DOORBELL
            d = doorbell[me];
#endif
            futex_wait(d)
        fi;
#endif
        d = 0;                              /* dead from here: fewer states */
        flag_buffer[me] ! 0                 /* A6 */
    od
}

proctype rank(byte me)
{
    byte e = 1, d;
    do
    :: e <= EPOCHS ->
        publish();
        await();
        e++
    :: else -> break
    od
}

/* What drains a rank's store buffer; it may well rest for ever once there is nothing to drain. */
proctype drain(byte me)
{
end:
    do
    :: atomic { epoch_buffer[me] ? epoch[me] }
    :: atomic { flag_buffer[me] ? flag[me] }
    od
}

init {
    byte me;
    atomic {
        for (me : 0 .. RANKS - 1) {
            run drain(me);
            run rank(me)
        }
    }
}
