/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the members of a communicator agree while some of them die (runtime/engine/agree.h has the rules A1 to A5), as a Promela model that spin
 * checks exhaustively: 4 ranks, of which 2 may die at any step. (run.sh runs it.)
 *
 * Each message is a bit: the sender sets it, and the receiver looks at it whenever it likes, so messages take any time and any order. If
 * a rank dies, what it has sent to another rank arrives, or is lost, or only its decision is lost. So one step may send to several ranks. Each
 * rank finds a death at any later time.
 *
 * Properties: every rank that does not die decides; all decisions are equal, also those of ranks that die
 * later; every rank that lives when a rank decides is in the decision; a rank that learns of a decision has accepted its value.
 *
 * Each of these must break them:
 *   NO_GIVE        A1: no words are sent
 *   NO_GIVE_AGAIN  A1: words are sent to the first coordinator only
 *   NO_GATHER      A2: a coordinator does not await the words of the others
 *   NO_PROPOSE     A2: proposals are not sent
 *   NO_AGAIN       A2: a coordinator that has accepted a value does not propose that one, but combines words anew
 *   NO_ACCEPT      A3: acceptance is not sent
 *   NO_AWAIT       A4: a coordinator decides without the acceptance of the others
 *   NO_DECISION    A4: decisions are not sent
 *   NO_ANSWER      A5: a rank that has decided does not answer those that have not
 *   NO_NEXT        a rank whose coordinator has died turns to no other one
 *   NO_DEATHS      a coordinator goes on waiting for ranks that have died
 */

#define RANKS 4
#define DEATHS 2
#define ALL 15
#define BIT(r) (1 << (r))

byte dead, deaths;    /* how many may still die */
byte known[RANKS];    /* the deaths that each rank has found */
byte gave[RANKS];     /* messages from each rank, a bit for each receiver */
byte proposed[RANKS];
byte accepted[RANKS];
byte decided[RANKS];
byte proposal[RANKS]; /* the value of its proposal: whose words are in it */
byte value[RANKS];    /* the value that it has accepted; 0: none */
byte decision;        /* of all; 0: none yet */
byte finished;        /* ranks that have decided */

#ifdef NO_NEXT
#define COORDINATOR 0
#else
#define COORDINATOR ((known[me] & 1) == 0 -> 0 : ((known[me] & 2) == 0 -> 1 : ((known[me] & 4) == 0 -> 2 : 3)))
#endif
#define COORDINATES (COORDINATOR == me)
#define LIVES (!(dead & BIT(me)))

#define TO(messages, from, to) (messages[from] & BIT(to))
#define FROM_ALL(messages) (((TO(messages, 0, me) != 0) | (TO(messages, 1, me) != 0) << 1 | (TO(messages, 2, me) != 0) << 2 | \
                             (TO(messages, 3, me) != 0) << 3) | BIT(me))
#define ASKERS ((FROM_ALL(gave) | FROM_ALL(proposed)) & ~BIT(me))
#ifdef NO_DEATHS
#define THERE ALL
#else
#define THERE (ALL & ~known[me])
#endif

#ifdef NO_GIVE_AGAIN
#define GIVES (COORDINATOR == 0)
#else
#define GIVES 1
#endif
#ifdef NO_AGAIN
#define IS_FIRST 1
#else
#define IS_FIRST (value[me] == 0)
#endif
#ifdef NO_GATHER
#define HAS_GATHERED 1
#else
#define HAS_GATHERED ((FROM_ALL(gave) & THERE) == THERE)
#endif
#ifdef NO_AWAIT
#define ARE_AGREED 1
#else
#define ARE_AGREED (((FROM_ALL(accepted) | FROM_ALL(decided)) & THERE) == THERE)
#endif

/* A rank that is not in the list has died. */
inline decide()
{
    assert(value[me] != 0);
    assert(decision == 0 || decision == value[me]);
    assert((value[me] | dead) == ALL);
    decision = value[me];
    finished = finished | BIT(me);
    took = 0;
    goto has_decided
}

/* one of these ranks that is not this one */
inline choose(set)
{
    if
    :: set & 1 -> q = 0
    :: set & 2 -> q = 1
    :: set & 4 -> q = 2
    :: set & 8 -> q = 3
    fi
}

proctype rank(byte me)
{
    byte q, took = RANKS;
    bit has_proposed;
end_waits: /* death() checks that a rank which lives does not wait for ever */
    do
    :: atomic { /* it finds a death */
        LIVES && (dead & ~known[me]) != 0 -> choose(dead & ~known[me]);
        known[me] = known[me] | BIT(q); q = 0
       }
#ifndef NO_GIVE
    :: atomic { /* A1 */
        LIVES && !COORDINATES && !TO(gave, me, COORDINATOR) && GIVES ->
        gave[me] = gave[me] | BIT(COORDINATOR)
       }
#endif
    :: atomic { /* A2: the first proposal */
        LIVES && COORDINATES && !has_proposed && IS_FIRST && HAS_GATHERED ->
        value[me] = FROM_ALL(gave) & THERE; proposal[me] = value[me]; has_proposed = 1
       }
#ifndef NO_AGAIN
    :: atomic { /* A2: the value that it has accepted */
        LIVES && COORDINATES && !has_proposed && value[me] != 0 -> proposal[me] = value[me]; has_proposed = 1
       }
#endif
#ifndef NO_PROPOSE
    :: atomic {
        LIVES && has_proposed && proposed[me] == 0 -> proposed[me] = ALL & ~BIT(me)
       }
#endif
    :: atomic { /* A3 */
        LIVES && !COORDINATES && TO(proposed, COORDINATOR, me) && took != COORDINATOR ->
        took = COORDINATOR; value[me] = proposal[COORDINATOR];
#ifndef NO_ACCEPT
        accepted[me] = accepted[me] | BIT(COORDINATOR)
#endif
       }
    :: atomic { /* A4: the others have accepted the proposal, or have decided */
        LIVES && COORDINATES && has_proposed && ARE_AGREED -> decide()
       }
    :: atomic { /* A5 */
        LIVES && !COORDINATES && TO(decided, COORDINATOR, me) -> decide()
       }
    od;
has_decided:
end_decided:
    do
    :: atomic { !LIVES -> break }
#ifndef NO_DECISION
    :: atomic { /* the coordinator tells it */
        LIVES && has_proposed && decided[me] == 0 -> decided[me] = ALL & ~BIT(me)
       }
#endif
#ifndef NO_ANSWER
    :: atomic { /* a rank that has not decided gives words or proposes */
        LIVES && !has_proposed && (ASKERS & ~decided[me]) != 0 -> decided[me] = decided[me] | ASKERS
       }
#endif
    od
}

inline lose(from, to)
{
    if
    :: skip
    :: decided[from] = decided[from] & ~BIT(to)
    :: decided[from] = decided[from] & ~BIT(to);
       gave[from] = gave[from] & ~BIT(to);
       proposed[from] = proposed[from] & ~BIT(to);
       accepted[from] = accepted[from] & ~BIT(to)
    fi
}

inline kill(r)
{
    dead = dead | BIT(r);
    deaths--;
    known[r] = 0;
    value[r] = 0;
    lose(r, 0);
    lose(r, 1);
    lose(r, 2);
    lose(r, 3)
}

proctype death()
{
end:
    do
    :: atomic { deaths > 0 && !(dead & 1) -> kill(0) }
    :: atomic { deaths > 0 && !(dead & 2) -> kill(1) }
    :: atomic { deaths > 0 && !(dead & 4) -> kill(2) }
    :: atomic { deaths > 0 && !(dead & 8) -> kill(3) }
    :: timeout -> assert((finished | dead) == ALL); break
    od
}

init {
    atomic {
        if
        :: deaths = 0
        :: deaths = 1
        :: deaths = DEATHS
        fi;
        run rank(0);
        run rank(1);
        run rank(2);
        run rank(3);
        run death()
    }
}
