/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the members of a communicator agree while some of them die, or do not reach each other (runtime/engine/agree.h has the rules A1 to
 * A6), as a Promela model that spin checks exhaustively. (run.sh runs it.) There are 4 ranks. CUT is a set of ranks: if it is not 0, ranks
 * in it and ranks outside it may hold each other for gone at any time, or not, each on its own. Of all ranks DEATHS may die at any step.
 *
 * Each message is a bit: the sender sets it, and the receiver looks at it whenever it likes, so messages take any time and any order, also
 * across the cut. If a rank dies, what it has sent to another rank arrives, or is lost, or only its decision is lost. So one step may send
 * to several ranks. Each rank finds a death at any later time. It may find before that the rank is gone, if the cut is between them.
 *
 * Properties: decisions of ranks that are alive at the same time are equal. Without a cut also those of ranks that die later are equal, and
 * every rank that lives when a rank decides is in the decision. A rank that learns of a decision has accepted its value, or knows that
 * it was left out. Without a cut every rank that does not die decides.
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
 * With a cut, these too:
 *   CUT_NO_QUORUM  A6: each side goes on (with the cut 3:1)
 *   CUT_NO_TIE     A6: half of the ranks go on, whichever half it is (2:2)
 * By hand, because it takes minutes: -DCUT=2 -DDEATHS=1 -DCUT_NO_HIGHEST, where a coordinator looks only at what it has accepted itself (A2).
 * That a rank compares a decision with what it has accepted (A5), and that ranks confirm which others are over (A6), matters only to more than
 * four ranks.
 */

#ifndef CUT
#define CUT 0
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#define ALL 15
#define BIT(r) (1 << (r))
#define SIZE(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1))

#define ACROSS(r) ((CUT) == 0 -> 0 : ((CUT) & BIT(r) -> ALL & ~(CUT) : (CUT)))

byte dead, deaths;    /* how many may still die */
byte known[4];        /* the ranks that each rank holds for gone */
byte over[4];         /* those of them that it knows to have died */
byte gave[4];         /* messages from each rank, a bit for each receiver */
byte proposed[4];
byte accepted[4];
byte decided[4];
byte proposal[4];     /* the value of its proposal: whose words are in it */
byte mine[4];         /* 1 + the rank whose proposal it has accepted; 0: none */
byte given[16];       /* [from * 4 + to] mine, as it was told with the words */
byte told[16];        /* [from * 4 + to] over, as it was told to its coordinator by now */
byte ballot[4];       /* of the decision of a rank, like mine */
byte decision[4];     /* of each rank that is alive; 0: none yet */
byte all_decided;     /* the decision of any rank, also of those that have died; 0: none yet */
byte finished;        /* ranks that have decided, are left out, or are in the minority */

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
/* a rank that waits asks all ranks that are not gone for it */
#define ASKS(r) ((known[r] & BIT(me)) == 0 -> BIT(r) : 0)
#define ASKERS ((ASKS(0) | ASKS(1) | ASKS(2) | ASKS(3)) & ~BIT(me))
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
#ifdef NO_GATHER
#define HAS_GATHERED 1
#else
#define HAS_GATHERED ((FROM_ALL(gave) & THERE) == THERE)
#endif
#ifdef NO_AWAIT
#define ARE_AGREED 1
#else
#define ARE_AGREED ((FROM_ALL(accepted) & THERE) == THERE)
#endif

/* A6 */
#ifdef CUT_NO_QUORUM
#define IS_LARGER 1
#elif defined(CUT_NO_TIE)
#define IS_LARGER (2 * SIZE(THERE) >= 4)
#else
#define IS_LARGER (2 * SIZE(THERE) > 4 || (2 * SIZE(THERE) == 4 && (THERE & 1)))
#endif
#define ARE_OVER ((THERE | over[me]) == ALL)
#define KNOWS(r) (CUT == 0 || r == me || !(THERE & BIT(r)) || (told[r * 4 + me] & over[me]) == over[me])
#define ALL_KNOW (KNOWS(0) && KNOWS(1) && KNOWS(2) && KNOWS(3))
#define MAY_GO_ON (IS_LARGER || (ARE_OVER && ALL_KNOW))
#define IS_HOPELESS (!IS_LARGER && !ARE_OVER)

/* A2: the highest proposal that a rank which is here has accepted */
#define GIVEN(r) (r == me -> mine[me] : ((THERE & BIT(r)) && TO(gave, r, me) -> given[r * 4 + me] : 0))
#define HIGHER(a, b) ((a) > (b) -> (a) : (b))
#ifdef NO_AGAIN
#define HIGHEST 0
#elif defined(CUT_NO_HIGHEST)
#define HIGHEST mine[me]
#else
#define HIGHEST HIGHER(HIGHER(GIVEN(0), GIVEN(1)), HIGHER(GIVEN(2), GIVEN(3)))
#endif

/* clear what rank r no longer needs, so that there are fewer states. Then r asks no rank */
inline forget(r)
{
    known[r] = ALL;
    over[r] = 0;
    mine[r] = 0
}

inline decide(by)
{
    assert(mine[me] != 0);
    decision[me] = proposal[mine[me] - 1];
    ballot[me] = by;
    assert((decision[0] == 0 || decision[0] == decision[me]) && (decision[1] == 0 || decision[1] == decision[me]) &&
           (decision[2] == 0 || decision[2] == decision[me]) && (decision[3] == 0 || decision[3] == decision[me]));
    assert(CUT != 0 || ((all_decided == 0 || all_decided == decision[me]) && (decision[me] | dead) == ALL));
    all_decided = decision[me];
    finished = finished | BIT(me);
    forget(me);
    goto has_decided
}

/* A5: q has decided. Has this rank accepted that value? Else the others have left it out. */
inline decide_too()
{
    if
    :: mine[me] >= ballot[q] -> decide(ballot[q])
#if CUT
    :: else -> finished = finished | BIT(me); goto gave_up
#endif
    fi
}

/* one of the ranks in set */
inline choose()
{
    if
    :: set & 1 -> q = 0
    :: set & 2 -> q = 1
    :: set & 4 -> q = 2
    :: set & 8 -> q = 3
    fi
}

/* across: the ranks that it may hold for gone while they live */
proctype rank(byte me, across)
{
    byte q, set;
    bit has_proposed;
end_waits: /* death() checks that a rank which lives does not wait for ever */
    do
#if DEATHS
    :: atomic { /* it finds a death */
        LIVES && (dead & ~over[me]) != 0 ->
        set = dead & ~over[me]; choose();
        known[me] = known[me] | BIT(q); over[me] = over[me] | BIT(q); q = 0; set = 0
       }
#endif
#if CUT
    :: atomic { /* it does not reach a rank, or that rank follows a higher one */
        LIVES && (across & ~known[me]) != 0 ->
        set = across & ~known[me]; choose();
        known[me] = known[me] | BIT(q); q = 0; set = 0
       }
#endif
#ifndef NO_GIVE
    :: atomic { /* A1 */
        LIVES && !COORDINATES && !TO(gave, me, COORDINATOR) && GIVES ->
        q = COORDINATOR; gave[me] = gave[me] | BIT(q); given[me * 4 + q] = mine[me]; q = 0
       }
#endif
#if CUT && DEATHS
    :: atomic { /* it tells its coordinator which ranks are over */
        LIVES && !COORDINATES && TO(gave, me, COORDINATOR) && told[me * 4 + COORDINATOR] != over[me] ->
        q = COORDINATOR; told[me * 4 + q] = over[me]; q = 0
       }
#endif
    :: atomic { /* A2 */
        LIVES && COORDINATES && !has_proposed && HAS_GATHERED && MAY_GO_ON ->
        q = HIGHEST;
        if
        :: q != 0 -> proposal[me] = proposal[q - 1]
        :: else -> proposal[me] = FROM_ALL(gave) & THERE
        fi;
        mine[me] = me + 1; has_proposed = 1; q = 0
       }
#ifndef NO_PROPOSE
    :: atomic { /* only to the ranks that are here */
        LIVES && has_proposed && proposed[me] == 0 && (THERE & ~BIT(me)) != 0 -> proposed[me] = THERE & ~BIT(me)
       }
#endif
    :: atomic { /* A3 */
        LIVES && !COORDINATES && TO(proposed, COORDINATOR, me) && mine[me] < COORDINATOR + 1 ->
        q = COORDINATOR; mine[me] = q + 1;
#ifndef NO_ACCEPT
        accepted[me] = accepted[me] | BIT(q);
#endif
        q = 0
       }
    :: atomic { /* A4: the others have accepted the proposal */
        LIVES && COORDINATES && has_proposed && ARE_AGREED && MAY_GO_ON -> decide(me + 1)
       }
    :: atomic { /* A5: a rank learns the decision of any other one */
        LIVES && (FROM_ALL(decided) & ~BIT(me)) != 0 ->
        set = FROM_ALL(decided) & ~BIT(me); choose(); set = 0;
        decide_too()
       }
#if CUT
    :: atomic { /* A6 */
        LIVES && IS_HOPELESS -> finished = finished | BIT(me); goto gave_up
       }
#endif
    od;
has_decided:
    q = 0;
end_decided:
    do
#if DEATHS
    :: atomic { !LIVES -> break }
#else
    :: atomic { finished == ALL -> break }
#endif
#ifndef NO_DECISION
    :: atomic { /* the coordinator tells it */
        LIVES && has_proposed && decided[me] == 0 -> decided[me] = ALL & ~BIT(me)
       }
#endif
#ifndef NO_ANSWER
    :: atomic { /* a rank that has not decided asks */
        LIVES && !has_proposed && (ASKERS & ~decided[me]) != 0 -> decided[me] = decided[me] | ASKERS
       }
#endif
    od;
gave_up:
    q = 0
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
    forget(r);
    decision[r] = 0;
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
    :: timeout -> assert((finished | dead) == ALL || CUT != 0); break
    od
}

init {
    atomic {
        if
        :: deaths = 0
        :: deaths = DEATHS
        fi;
        run rank(0, ACROSS(0));
        run rank(1, ACROSS(1));
        run rank(2, ACROSS(2));
        run rank(3, ACROSS(3));
        run death()
    }
}
