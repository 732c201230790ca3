/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How members of a stage elect one of the last to come (ELECT, hx_is_elected in runtime/engine/flags.h), as a Promela model that spin checks
 * exhaustively: 3 members, 2 epochs, store buffers. (run.sh runs it.)
 *
 *   E1  store vector, stamp[me] = the call, flag[me] = e
 *   E2  FULL FENCE: the store and the loads of E3 are sequentially consistent
 *   E3  look at the flags of the others, one by one: all >= e? else go to E6
 *   E4  is each stamp that of my call? else fail. Compare and swap: elected from an earlier epoch to e? else go to E6
 *   E5  read all vectors; store sum = e
 *   E6  await sum >= e
 *
 * What pairs with what:
 *   E2 with E2   Of the members' fences one is the last. Whoever issued it finds all flags raised in E3. Without fences
 *                each may look before the others' stores are out: nobody is elected, and all wait for ever.
 *   E4           Two that store at about the same time may both find all flags raised. One compare-and-swap succeeds.
 *                Without it both would add up into the same slot.
 *   E4 with E1   The stamp is stored before the flag: a member that sees another's flag also sees of which call it is.
 *                Without E4's check of the stamps, vectors of two calls would be added up.
 *   E5 of e with E5 of e + 1, by another member: who is elected for e + 1 has seen the flag that the one of e raised
 *                after its sum, so sums are stored in order.
 *
 * The machine: a member's stores wait in its buffer and drain in order at any later time, as on x86. Elsewhere the code's
 * release stores and acquire loads promise that order.
 *
 * Properties: no invalid end state, that is, every member ends both epochs; one is elected in each; who is elected finds
 * all vectors of its epoch, and who awaits finds the sum of its own. If members make different calls, nobody is elected:
 * some fail, and the others wait until stall.c finds the mismatch. Each of NO_FENCE (E2), NO_SWAP (E4: a look and a
 * store instead), NO_LOOK (E3 for one other only), NO_COMPARE (E4 without the stamps) and LATE_STAMP (E1: stored after the
 * flag) must break them.
 */

#define MEMBERS 3
#define EPOCHS 2

byte vector[MEMBERS], stamp[MEMBERS], flag[MEMBERS];
byte call[MEMBERS]; /* the call that each member makes */
byte elected, sum;
byte elections[EPOCHS + 1];

/* One queue per member: release order. What is written where: the place, and the epoch. */
mtype = { VECTOR, STAMP, FLAG, SUM };
chan buffer[MEMBERS] = [5] of { mtype, byte };

#define PEER_A ((me + 1) % MEMBERS)
#define PEER_B ((me + 2) % MEMBERS)

#define UNLIKE (call[0] != call[1] || call[0] != call[2])

inline elect()
{
    wins = 0;
    buffer[me] ! VECTOR, e;                              /* E1 */
#ifndef LATE_STAMP
    buffer[me] ! STAMP, call[me];
#endif
    buffer[me] ! FLAG, e;
#ifndef NO_FENCE
    empty(buffer[me]);                                   /* E2 */
#endif
    if                                                   /* E3 */
    :: flag[PEER_A] >= e ->
        if
#ifdef NO_LOOK
        :: 1 ->
#else
        :: flag[PEER_B] >= e ->
#endif
#ifndef NO_COMPARE
            if                                           /* E4 */
            :: stamp[PEER_A] != call[me] || stamp[PEER_B] != call[me] -> goto failed
            :: else
            fi;
#endif
#ifdef NO_SWAP
            if
            :: elected < e -> elected = e; wins = 1      /* in two steps */
            :: else
            fi
#else
            atomic {
                if
                :: elected < e -> elected = e; wins = 1
                :: else
                fi
            }
#endif
        :: else
        fi
    :: else
    fi;
#ifdef LATE_STAMP
    buffer[me] ! STAMP, call[me]
#endif
}

inline combine()
{
    if
    :: wins ->
        elections[e] = elections[e] + 1;
        assert(elections[e] == 1 && !UNLIKE);
        assert(vector[PEER_A] == e && vector[PEER_B] == e);
        buffer[me] ! SUM, e                              /* E5 */
    :: else
    fi
}

proctype rank(byte me)
{
    byte e = 1;
    bit wins;
    do
    :: e <= EPOCHS ->
        elect();
        combine();
        if                                               /* E6 */
        :: sum >= e -> assert(sum == e)
        :: UNLIKE -> break
        fi;
        e++
    :: else -> break
    od;
failed:
    skip
}

/* What drains a member's store buffer; it may well rest for ever once there is nothing to drain. */
proctype drain(byte me)
{
    byte e;
end:
    do
    :: atomic { buffer[me] ? VECTOR, e -> vector[me] = e }
    :: atomic { buffer[me] ? STAMP, e -> stamp[me] = e }
    :: atomic { buffer[me] ? FLAG, e -> flag[me] = e }
    :: atomic { buffer[me] ? SUM, e -> assert(sum < e); sum = e }
    od
}

init {
    byte me;
    atomic {
        for (me : 0 .. MEMBERS - 1) {
            if                                           /* all one, or two and one */
            :: call[me] = 1
            :: me > 0 -> call[me] = 2
            fi
        }
        for (me : 0 .. MEMBERS - 1) {
            run drain(me);
            run rank(me)
        }
    }
}
