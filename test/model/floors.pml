/* Who decides about the floor of one `single` talkgroup (the home), how a grant is numbered (the turn), and what each
 * relay plays (the order). README.md tells what is modelled, what is not, and how to read a trail.
 *
 * Settings (-D): N relays (2 or 3), PRESSES, ENDS, CUTS, LOSSES: how often each may happen in all. RANKS: bit r is set
 * when the session of relay r has an emergency. APART: the history begins with every relay alone (1|1|1). TIMELY: a
 * timer fires only while no message is under way. FRAMES: frames of a burst and turn. WEIGHT: the order of the homes.
 * FAULT_x: a planted fault. Spin must find a counter-example to each of them. */

#ifndef N
#define N 3
#endif
#ifndef PRESSES
#define PRESSES 2
#endif
#ifndef ENDS
#define ENDS 1
#endif
#ifndef CUTS
#define CUTS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef RANKS
#define RANKS 0
#endif
#ifndef FRAMES
#define FRAMES 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef CAP
#define CAP 6
#endif

/* A claim of a session, as its relay has it. HAS: granted, and not begun yet. */
#define NONE 0
#define ASKS 1
#define HAS 2
#define TALKS 3

/* Messages. VERDICTs and PARTs go to one relay, HOLD asks for HERE, the others are the stream of a talkgroup. */
mtype = { STARTED, FRAME, ENDED, PART, HERE, HOLD, GRANTED, DENIED, REVOKED }

/* A relay as authority: not the home by its own view, collecting the parts, deciding. */
#define AWAY 0
#define COLLECTS 1
#define DECIDES 2

/* A turn is (count, home), compared in that order. It lies in one byte, so that < compares both. */
#define TURN(count, home) (((count) << 2) | (home))
#define COUNT(turn) ((turn) >> 2)
#define GIVER(turn) ((turn) & 3)
#ifdef FAULT_NO_HOME_IN_TURN
#define LE(a, b) (COUNT(a) <= COUNT(b))
#else
#define LE(a, b) ((a) <= (b))
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* Enough for the grants that can be under way: 256 in the service. */
#ifdef FAULT_NO_GAP
#define GAP 0
#define GAP_OF_HOLDER 1
#else
#define GAP (PRESSES + 1)
#define GAP_OF_HOLDER GAP
#endif

#define BIT(r) (1 << (r))
#define ALL (BIT(N) - 1)
#define RANK(r) (((RANKS) >> (r)) & 1)
#define WIRE(from, to) wire[(from) * (N - 1) + (to) - ((to) > (from))]
#define REACHES(a, b) (!(cut & BIT((a) + (b) - 1)))

/* Section 2: of the relays that this one takes for alive, the one with the highest weight. */
#ifdef LAST_IS_HOME
#define HOME(r) ((up[r] & 4) -> 2 : ((up[r] & 2) -> 1 : 0))
#else
#define HOME(r) ((up[r] & 1) -> 0 : ((up[r] & 2) -> 1 : 2))
#endif

#if N == 2
#define WIRES 2
#define PARTS 4
#define QUIET (len(wire[0]) + len(wire[1]) == 0)
#else
#define WIRES 6
#define PARTS 9
#define QUIET (len(wire[0]) + len(wire[1]) + len(wire[2]) + len(wire[3]) + len(wire[4]) + len(wire[5]) == 0)
#endif
#ifdef TIMELY
#define TIMER QUIET
#else
#define TIMER true
#endif

/* kind, burst, turn, after, claim, top */
chan wire[WIRES] = [CAP] of { mtype, byte, byte, byte, byte, byte };

byte cut;           /* Pairs of relays that do not reach each other: bit 0 is 0-1, bit 1 is 0-2, bit 2 is 1-2. */
byte cutsLeft = CUTS;
byte lossesLeft = LOSSES;
byte pressesLeft = PRESSES;
byte endsLeft = ENDS;
bool isCalm;        /* From here on nothing is cut and nothing is lost. */
bool isHurried;     /* Order did not wait for what was late. */
bool isSettled;     /* Calm, and the last merge has ended: C4 holds strictly from here on. */
byte rounds;        /* Repetitions since it is calm. */

typedef Relay {
  /* Its session, which speaks one burst for each time it asks. */
  byte claim; byte burst; byte turn; byte after; byte framesLeft;
  bool isChanged;   /* The part has to be told to the home. */
  /* Order: what it plays. Relays are told as number + 1, 0 is none. */
  byte on; byte onBurst; byte onTurn;
  byte over;
  byte next; byte nextBurst; byte nextTurn; byte nextAfter; bool nextHasStart; bool nextIsEnded;
  /* Authority. */
  byte court; byte holder; byte heldBurst; byte heldTurn; byte heldAfter; byte got;
  byte seen;        /* The highest count that it has seen. */
}
Relay at[N];
byte up[N];         /* V(g): whom it takes for alive, itself included. */
typedef Told { byte claim; byte burst; byte turn; }
Told told[PARTS];   /* While it collects: the parts that came. */

/* Of the action under way only, so no part of the state. */
hidden mtype kind, vKind;
hidden byte me_from, b, u, a, c, top, x, y, best, bestClaim, bestBurst, bestTurn, vBurst, vTurn, vAfter, w;
hidden byte isOther;

#define TOP(r) MAX(at[r].over, (at[r].on -> at[r].onTurn : 0))
/* The last turn that began as far as this relay knows. */
#ifdef FAULT_AFTER_IS_LAST_BEGUN
#define LAST_BEGUN(r) MAX(TOP(r), (at[r].nextHasStart -> at[r].nextTurn : 0))
#else
#define LAST_BEGUN(r) MAX(at[r].heldTurn, MAX(TOP(r), (at[r].nextHasStart -> at[r].nextTurn : 0)))
#endif

/* The bus: at most once, in order for each pair. */
inline post(TO, KIND, BURST1, TURN1, AFTER1, CLAIM1, TOP1) {
  if
  :: !REACHES(me, TO)
  :: REACHES(me, TO) && lossesLeft > 0 ->
     lossesLeft--;
     printf("%d -> %d lost: %e burst %d turn %d.%d\n", me, TO, KIND, BURST1, COUNT(TURN1), GIVER(TURN1))
  :: REACHES(me, TO) -> assert(len(WIRE(me, TO)) < CAP);
     WIRE(me, TO)!KIND, BURST1, TURN1, AFTER1, CLAIM1, TOP1;
     printf("%d -> %d: %e burst %d turn %d.%d after %d.%d claim %d\n",
       me, TO, KIND, BURST1, COUNT(TURN1), GIVER(TURN1), COUNT(AFTER1), GIVER(AFTER1), CLAIM1)
  fi
}

inline publish(KIND2, BURST2, TURN2, AFTER2) {
  x = 0;
  do
  :: x < N -> if :: x != me && (up[me] & BIT(x)) -> post(x, KIND2, BURST2, TURN2, AFTER2, 0, 0) :: else fi; x++
  :: else -> x = 0; break
  od
}

inline raise(T3) { if :: COUNT(T3) > at[me].seen -> at[me].seen = COUNT(T3) :: else fi }

/* ---------------------------------------------------------------- Section 8: what a relay plays ---------------- */

/* C1: a frame goes to the listeners of this relay. */
inline play(R4, B4, U4) {
  assert(at[me].on == R4 + 1 && at[me].onBurst == B4);   /* One voice: the burst that was announced. */
  assert(U4 > at[me].over);                             /* And none below one that ended here. */
}

inline endOn() {
  at[me].over = MAX(at[me].over, at[me].onTurn);
  at[me].on = 0; at[me].onBurst = 0; at[me].onTurn = 0
}

inline dropNext() {
  at[me].next = 0; at[me].nextBurst = 0; at[me].nextTurn = 0; at[me].nextAfter = 0;
  at[me].nextHasStart = false; at[me].nextIsEnded = false
}

/* The held burst is on: TALK_STARTED. */
inline putOn() {
  assert(at[me].nextTurn > at[me].over);
  at[me].on = at[me].next; at[me].onBurst = at[me].nextBurst; at[me].onTurn = at[me].nextTurn;
  if :: at[me].nextIsEnded -> endOn() :: else fi;
  dropNext()
}

/* With nothing cut and nothing lost no burst is dropped: order holds it until its turn. */
inline fenced() { 
#ifdef HEALTHY
  assert(isHurried)
#else
  skip
#endif
}

/* After `on` or `over` changed: what stands at or below them is fenced, and the next one moves up. */
inline moveUp() {
  if
  :: at[me].next && (LE(at[me].nextTurn, at[me].over) || (at[me].on && LE(at[me].nextTurn, at[me].onTurn))) ->
     fenced(); dropNext()
  :: else
  fi;
  if
  :: at[me].next && !at[me].on && at[me].nextHasStart && LE(at[me].nextAfter, at[me].over) -> putOn()
  :: else
  fi;
  /* A grant of our own that was overtaken: `collision`. */
  if
  :: at[me].claim == HAS && (LE(at[me].turn, at[me].over) || (at[me].on && LE(at[me].turn, at[me].onTurn))) ->
     at[me].claim = NONE; at[me].turn = 0; at[me].after = 0; at[me].isChanged = true
  :: else
  fi
}

/* The clock acts on a turn of the home of our own view only (corrections). A burst of our own ends by verdict only. */
#ifdef FAULT_CLOCK_ACTS_ON_FOREIGN
#define CLOCK_ACTS(me) (true)
#else
#define CLOCK_ACTS(me) (GIVER(at[me].nextTurn) == HOME(me) && at[me].on != me + 1)
#endif

/* What is on here is cut for the next one. */
inline cutOn() {
  if
  :: at[me].on ->
     /* An emergency is never cut by lower speech that a foreign home let begin. */
     assert(GIVER(at[me].nextTurn) == HOME(me) || RANK(at[me].on - 1) <= RANK(at[me].next - 1));
     if
     :: at[me].on == me + 1 ->
        publish(ENDED, at[me].burst, at[me].turn, 0);
        at[me].claim = NONE; at[me].turn = 0; at[me].after = 0; at[me].framesLeft = 0; at[me].isChanged = true
     :: else
     fi;
     endOn()
  :: else
  fi
}

/* A burst of relay R5 began with turn u behind turn a, or goes on (`continued`). */
inline started(R5) {
  raise(u);
  if
  :: at[me].on == R5 + 1 && at[me].onBurst == b -> at[me].onTurn = MAX(at[me].onTurn, u); moveUp()
  :: else ->
     if
     :: LE(u, at[me].over) || (at[me].on && LE(u, at[me].onTurn)) -> fenced()
     :: else ->
        /* Behind a turn that is held: the clock is over at once (corrections). */
        if
        :: at[me].next && at[me].nextHasStart && !(at[me].next == R5 + 1 && at[me].nextBurst == b) &&
           LE(at[me].nextTurn, a) && GIVER(u) == HOME(me) && CLOCK_ACTS(me) ->
           isHurried = true;
           cutOn(); at[me].over = MAX(at[me].over, at[me].nextAfter); putOn()
        :: else
        fi;
        if
        :: at[me].on == 0 && (
#ifdef FAULT_NO_AFTER
           true ||
#endif
           LE(a, at[me].over)) ->
           if
           :: at[me].next == R5 + 1 && at[me].nextBurst == b -> dropNext()
           :: else
           fi;
           assert(u > at[me].over);
           at[me].on = R5 + 1; at[me].onBurst = b; at[me].onTurn = u
        :: else ->
           if
           :: at[me].next == R5 + 1 && at[me].nextBurst == b ->
              at[me].nextTurn = MAX(at[me].nextTurn, u); at[me].nextAfter = a; at[me].nextHasStart = true
           :: at[me].next == 0 || (!(at[me].next == R5 + 1 && at[me].nextBurst == b) && !LE(u, at[me].nextTurn)) ->
              if :: at[me].next && at[me].nextHasStart -> fenced() :: else fi;
              at[me].next = R5 + 1; at[me].nextBurst = b; at[me].nextTurn = u; at[me].nextAfter = a;
              at[me].nextHasStart = true; at[me].nextIsEnded = false
           :: else -> fenced()
           fi
        fi;
        moveUp()
     fi
  fi
}

/* "u is on" is the same turn and the same (sender, burst) (corrections). */
#ifdef FAULT_NO_HOME_IN_TURN
#define IS_ON(me, r) (at[me].on && COUNT(at[me].onTurn) == COUNT(u))
#else
#define IS_ON(me, r) (at[me].on == (r) + 1 && at[me].onBurst == b && at[me].onTurn == u)
#endif

inline frame(R5) {
  raise(u);
  if
  :: IS_ON(me, R5) -> play(R5, b, u)
  :: !IS_ON(me, R5) && at[me].next == 0 && !(at[me].on == R5 + 1 && at[me].onBurst == b) &&
     !LE(u, TOP(me)) ->
     /* Unknown: kept without a start. The relay asks for it. */
     at[me].next = R5 + 1; at[me].nextBurst = b; at[me].nextTurn = u; at[me].nextHasStart = false
  :: else
  fi
}

inline freeFloor() { at[me].holder = 0; at[me].heldBurst = 0; at[me].heldTurn = 0; at[me].heldAfter = 0 }

inline ended(R5) {
  raise(u);
  if
  :: at[me].on == R5 + 1 && at[me].onBurst == b -> endOn(); moveUp()
  :: at[me].next == R5 + 1 && at[me].nextBurst == b ->
     if :: at[me].nextHasStart -> at[me].nextIsEnded = true :: else -> dropNext() fi
  :: else
  fi;
  /* The home hears the release from this. */
  if
  :: at[me].court == DECIDES && at[me].holder == R5 + 1 && at[me].heldBurst == b -> freeFloor()
  :: else
  fi
}

/* ---------------------------------------------------------------- Section 7: the authority ---------------------- */

/* To the session of relay R6. Our own relay carries it out within the same action. */
inline verdict(R6, KIND6, B6, U6, A6) {
  if
  :: R6 == me -> assert(vKind == 0); vKind = KIND6; vBurst = B6; vTurn = U6; vAfter = A6
  :: else -> post(R6, KIND6, B6, U6, A6, 0, 0)
  fi
}

inline giveTurn(R7, B7, GAP7) {
  w = LAST_BEGUN(me);
  at[me].seen = at[me].seen + GAP7;
  assert(at[me].seen < 63);
  at[me].holder = R7 + 1; at[me].heldBurst = B7; at[me].heldTurn = TURN(at[me].seen, me);
  at[me].heldAfter = w;
  verdict(R7, GRANTED, B7, at[me].heldTurn, w);
  w = 0
}

/* A verdict answers every claim of a part. It says the same `after` each time. */
inline repeatGrant() {
  y = at[me].holder - 1;
  verdict(y, GRANTED, at[me].heldBurst, at[me].heldTurn, at[me].heldAfter);
  y = 0
}

inline takeFrom(R8) {
  y = at[me].holder - 1;
  verdict(y, REVOKED, at[me].heldBurst, 0, 0);
  giveTurn(R8, b, 1);
  y = 0
}

/* The part of relay R9: claim c of burst b with turn u, and the highest turn that R9 plays or that ended there. */
inline decide(R9) {
  raise(u); raise(top);
  if
  :: at[me].holder == R9 + 1 && (c == NONE || at[me].heldBurst != b) -> freeFloor()
  :: else
  fi;
  if
  :: c == ASKS ->
     if
     :: at[me].holder == R9 + 1 -> repeatGrant()
     :: at[me].holder == 0 -> giveTurn(R9, b, 1)
     :: at[me].holder && at[me].holder != R9 + 1 && RANK(R9) > RANK(at[me].holder - 1) -> takeFrom(R9)
     :: else -> verdict(R9, DENIED, b, 0, 0)
     fi
  :: c >= HAS ->
     if
     :: at[me].holder == R9 + 1 && u < at[me].heldTurn -> repeatGrant()
     :: at[me].holder == R9 + 1 && u > at[me].heldTurn -> giveTurn(R9, b, 1)
     /* Another home granted it, or its part came too late for the rebuild. */
     :: at[me].holder == 0 -> giveTurn(R9, b, 1)
     :: at[me].holder && at[me].holder != R9 + 1 && RANK(R9) > RANK(at[me].holder - 1) -> takeFrom(R9)
     :: at[me].holder && at[me].holder != R9 + 1 && RANK(R9) <= RANK(at[me].holder - 1) -> verdict(R9, REVOKED, b, 0, 0)
     :: else
     fi
  :: else
  fi;
  /* 7.3: a relay has seen a turn above the holder's, so it would drop the holder's frames. */
#ifndef FAULT_NO_TOP
  if
  :: at[me].holder && top > at[me].heldTurn && vKind == 0 ->
     y = at[me].holder - 1; giveTurn(y, at[me].heldBurst, 1); y = 0
  :: else
  fi
#endif
}

/* 7.4: a new home, or one that learns that it was lost, asks for the parts of all. */
inline collect() {
  freeFloor();
  printf("%d: collects\n", me);
  at[me].court = COLLECTS;
  at[me].got = BIT(me);
  x = 0;
  do
  :: x < N -> told[me * N + x].claim = 0; told[me * N + x].burst = 0; told[me * N + x].turn = 0;
     if :: x != me && (up[me] & BIT(x)) -> post(x, HOLD, 0, 0, 0, 0, 0) :: else fi; x++
  :: else -> x = 0; break
  od
}

/* Highest rank first, a talker before a mere grant, the older turn, the lower relay. */
#define BETTER(r, tc, tt) (best == 0 || RANK(r) > RANK(best - 1) || \
  (RANK(r) == RANK(best - 1) && (tc > bestClaim || (tc == bestClaim && tt < bestTurn))))

inline rebuild() {
  printf("%d: rebuilds with parts %d of %d\n", me, at[me].got, up[me]);
  told[me * N + me].claim = at[me].claim; told[me * N + me].burst = at[me].burst; told[me * N + me].turn = at[me].turn;
  best = 0; bestClaim = 0; bestBurst = 0; bestTurn = 0;
  x = 0;
  do
  :: x < N ->
     /* What is on here counts as a holder until its relay's part has come (corrections). */
     if
     :: !(at[me].got & BIT(x)) && at[me].on == x + 1 && (up[me] & BIT(x)) ->
        told[me * N + x].claim = TALKS; told[me * N + x].burst = at[me].onBurst; told[me * N + x].turn = at[me].onTurn
     :: else
     fi;
     if
     :: (up[me] & BIT(x)) && told[me * N + x].claim >= HAS && BETTER(x, told[me * N + x].claim, told[me * N + x].turn) ->
        best = x + 1; bestClaim = told[me * N + x].claim; bestBurst = told[me * N + x].burst;
        bestTurn = told[me * N + x].turn
     :: else
     fi;
     x++
  :: else -> x = 0; break
  od;
  at[me].court = DECIDES;
  at[me].got = 0;
  if
  :: best -> y = best - 1; giveTurn(y, bestBurst, GAP_OF_HOLDER); y = 0
  :: else -> at[me].seen = at[me].seen + GAP
  fi;
  do
  :: x < N ->
     if
     :: (up[me] & BIT(x)) && x + 1 != best && told[me * N + x].claim >= HAS ->
        verdict(x, REVOKED, told[me * N + x].burst, 0, 0)
     :: (up[me] & BIT(x)) && told[me * N + x].claim == ASKS && at[me].holder == 0 ->
        y = x; giveTurn(y, told[me * N + x].burst, 1); y = 0
     :: (up[me] & BIT(x)) && told[me * N + x].claim == ASKS && at[me].holder && at[me].holder != x + 1 ->
        verdict(x, DENIED, told[me * N + x].burst, 0, 0)
     :: else
     fi;
     told[me * N + x].claim = 0; told[me * N + x].burst = 0; told[me * N + x].turn = 0;
     x++
  :: else -> x = 0; break
  od;
  best = 0; bestClaim = 0; bestBurst = 0; bestTurn = 0
}

/* V(g) changed, or a peer said that it had lost us (isOther). */
inline viewed() {
  if
  :: HOME(me) == me ->
     if
     :: at[me].court == AWAY || isOther -> collect()
     :: at[me].court == DECIDES && !isOther && at[me].holder && !(up[me] & BIT(at[me].holder - 1)) -> freeFloor()
     :: else
     fi
  :: else ->
     freeFloor(); at[me].court = AWAY; at[me].got = 0;
     x = 0;
     do
     :: x < N -> told[me * N + x].claim = 0; told[me * N + x].burst = 0; told[me * N + x].turn = 0; x++
     :: else -> x = 0; break
     od;
     at[me].isChanged = true
  fi
}

/* ---------------------------------------------------------------- Section 7.2: the claim of the session --------- */

inline stopTalking() {
  publish(ENDED, at[me].burst, at[me].turn, 0);
  endOn();
  at[me].claim = NONE; at[me].turn = 0; at[me].after = 0; at[me].framesLeft = 0; at[me].isChanged = true;
  moveUp()
}

inline carryOut(FROM9, KIND9, B9, U9, A9) {
  if
#ifndef FAULT_VERDICT_OF_ANYBODY
  :: FROM9 != HOME(me)
#endif
  :: (
#ifdef FAULT_VERDICT_OF_ANYBODY
     true ||
#endif
     FROM9 == HOME(me)) && at[me].burst == B9 && at[me].claim != NONE ->
     if
     :: KIND9 == GRANTED ->
        raise(U9);
        if
        :: at[me].claim == ASKS -> at[me].claim = HAS; at[me].turn = U9; at[me].after = A9
        :: at[me].claim == HAS && U9 > at[me].turn -> at[me].turn = U9; at[me].after = A9
        :: at[me].claim == TALKS && U9 > at[me].turn ->
           at[me].turn = U9; at[me].after = A9; at[me].onTurn = U9; at[me].framesLeft = FRAMES;
           publish(STARTED, at[me].burst, U9, A9)
        :: else
        fi
     :: KIND9 == DENIED && at[me].claim == ASKS -> at[me].claim = NONE
     :: KIND9 == REVOKED ->
        /* A foreign home never ends the burst that our own home has let talk. */
        assert(FROM9 == HOME(me) || at[HOME(me)].court != DECIDES || at[HOME(me)].holder != me + 1);
        if
        :: at[me].claim == TALKS -> stopTalking()
        :: else -> at[me].claim = NONE; at[me].turn = 0; at[me].after = 0; at[me].isChanged = true
        fi
     :: else
     fi;
     moveUp()
  :: else
  fi
}

/* A grant is acted on behind the end of `after`. */
#define MAY_BEGIN(me) (at[me].claim == HAS && at[me].on == 0 && LE(at[me].after, at[me].over))

/* How many other sessions talk. */
#if N == 2
#define OTHERS_TALK(me) (at[1 - me].claim == TALKS)
#define IS_WHOLE (up[0] == ALL && up[1] == ALL)
#else
#define OTHERS_TALK(me) (at[(me + 1) % 3].claim == TALKS || at[(me + 2) % 3].claim == TALKS)
#define IS_WHOLE (up[0] == ALL && up[1] == ALL && up[2] == ALL)
#endif

/* A repetition would change something at relay r: the part every 500 ms, `here` behind a gap or an unknown burst. */
#define PART_DIFFERS(me) (HOME(me) != me && (up[HOME(me)] & BIT(me)) && REACHES(me, HOME(me)) && \
  HOME(HOME(me)) == HOME(me) && at[HOME(me)].court == DECIDES && \
  (at[me].claim == ASKS || \
  (at[me].claim >= HAS && !(at[HOME(me)].holder == me + 1 && at[HOME(me)].heldBurst == at[me].burst && \
    at[HOME(me)].heldTurn == at[me].turn)) || \
  (at[me].claim == NONE && at[HOME(me)].holder == me + 1) || \
  (at[HOME(me)].holder && TOP(me) > at[HOME(me)].heldTurn)))
#define STREAM_DIFFERS(me, r) (REACHES(me, r) && (up[me] & BIT(r)) && (up[r] & BIT(me)) && \
  ((at[me].claim == TALKS && at[me].turn > at[r].over && ((at[r].on == 0 && at[r].next != me + 1) || \
     (at[r].on == me + 1 && at[r].onBurst == at[me].burst && at[r].onTurn < at[me].turn))) || \
  (at[r].on == me + 1 && (at[me].claim != TALKS || at[r].onBurst != at[me].burst)) || \
  (at[r].next == me + 1 && (at[me].claim != TALKS || at[r].nextBurst != at[me].burst) && !at[r].nextIsEnded)))
inline say(R5, KIND5) {
  w = TOP(me);
  post(R5, KIND5, at[me].burst, at[me].turn, at[me].after, at[me].claim, w);
  w = 0
}

/* 500 ms are long: when it is calm, a repetition comes behind everything else. */
#define REPEATS ((isCalm && timeout) || (!isCalm && QUIET))
#if N == 2
#define PARTS_DIFFER (PART_DIFFERS(0) || PART_DIFFERS(1))
#define REPEATABLE (PARTS_DIFFER || STREAM_DIFFERS(0, 1) || STREAM_DIFFERS(1, 0))
#else
#define PARTS_DIFFER (PART_DIFFERS(0) || PART_DIFFERS(1) || PART_DIFFERS(2))
#define REPEATABLE (PARTS_DIFFER || STREAM_DIFFERS(0, 1) || \
  STREAM_DIFFERS(1, 0) || STREAM_DIFFERS(0, 2) || STREAM_DIFFERS(2, 0) || STREAM_DIFFERS(1, 2) || STREAM_DIFFERS(2, 1))
#endif

inline countRound() {
  if :: isCalm -> rounds++; assert(rounds <= ROUNDS) :: else fi
}

#if N == 2
#define ROOM(me, n) (len(WIRE(me, 1 - me)) + n <= CAP)
#else
#define ROOM(me, n) (len(WIRE(me, (me + 1) % 3)) + n <= CAP && len(WIRE(me, (me + 2) % 3)) + n <= CAP)
#endif

#define MAY_ACT ROOM(me, 4)
#define PEER1 ((me + 1) % N)
#define PEER2 ((me + 2) % N)

inline lose(R5) {
  printf("%d: %d is down\n", me, R5);
  up[me] = up[me] & ~BIT(R5);
  if :: at[me].on == R5 + 1 -> endOn() :: else fi;      /* TALK_ENDED `disconnected` */
  if :: at[me].next == R5 + 1 -> dropNext() :: else fi;
  moveUp();
  isOther = false; viewed()
}

/* Section 6: up again. It asks for what runs there. A home lets go what it kept. */
inline find(R5) {
  printf("%d: %d is up\n", me, R5);
  up[me] = up[me] | BIT(R5);
  isOther = true; viewed(); isOther = false;
  if :: HOME(me) != me -> post(R5, HOLD, 1, 0, 0, 0, 0) :: else fi
}

proctype relay(byte me) {
end:
  do
  :: atomic {
     if
     :: ROOM(me, 2) && nempty(WIRE(PEER1, me)) -> WIRE(PEER1, me)?kind, b, u, a, c, top; me_from = PEER1
#if N > 2
     :: ROOM(me, 2) && nempty(WIRE(PEER2, me)) -> WIRE(PEER2, me)?kind, b, u, a, c, top; me_from = PEER2
#endif
        /* The session. */
     :: MAY_ACT && at[me].claim == NONE && pressesLeft > 0 ->
           printf("%d: press\n", me); pressesLeft--; at[me].burst++; at[me].claim = ASKS; at[me].isChanged = true
     :: MAY_ACT && at[me].claim == ASKS && TIMER && (isCalm == false || cut) ->          /* 200 ms: `retry_later` */
           printf("%d: no verdict in time\n", me);
           at[me].claim = NONE; at[me].isChanged = true
     :: MAY_ACT && MAY_BEGIN(me) ->
           /* C4: calm, and the merge has ended: never two at once. */
           assert(!isSettled || !OTHERS_TALK(me));
           assert(at[me].turn > at[me].over);
           printf("%d: begins burst %d turn %d.%d\n", me, at[me].burst, COUNT(at[me].turn), GIVER(at[me].turn));
           at[me].claim = TALKS; at[me].on = me + 1; at[me].onBurst = at[me].burst; at[me].onTurn = at[me].turn;
           at[me].framesLeft = FRAMES;
           publish(STARTED, at[me].burst, at[me].turn, at[me].after);
           moveUp()
     :: MAY_ACT && at[me].claim == TALKS && at[me].framesLeft > 0 ->
           at[me].framesLeft--;
           play(me, at[me].burst, at[me].turn);
           publish(FRAME, at[me].burst, at[me].turn, 0)
     :: MAY_ACT && at[me].claim == TALKS && endsLeft > 0 -> endsLeft--; printf("%d: releases\n", me); stopTalking()
        /* Section 8, the clock. */
     :: MAY_ACT && at[me].next && at[me].nextHasStart && CLOCK_ACTS(me) && TIMER ->
           printf("%d: clock, burst of %d is on\n", me, at[me].next - 1);
           cutOn(); at[me].over = MAX(at[me].over, at[me].nextAfter); putOn(); moveUp()
     :: MAY_ACT && at[me].next && (!at[me].nextHasStart || GIVER(at[me].nextTurn) != HOME(me)) && TIMER -> printf("%d: drops the held turn\n", me); dropNext()
     :: MAY_ACT && at[me].claim == HAS && !MAY_BEGIN(me) && GIVER(at[me].turn) == HOME(me) && TIMER &&
        !(at[me].next && at[me].nextHasStart && LE(at[me].nextTurn, at[me].after)) ->
           printf("%d: clock, may begin\n", me);
           if :: at[me].on -> endOn() :: else fi;
           at[me].over = MAX(at[me].over, at[me].after);
           moveUp()
        /* Section 6: who is alive. */
     :: MAY_ACT && !REACHES(me, PEER1) && (up[me] & BIT(PEER1)) -> y = PEER1; lose(y)
     :: MAY_ACT && REACHES(me, PEER1) && !(up[me] & BIT(PEER1)) -> y = PEER1; find(y)
#if N > 2
     :: MAY_ACT && !REACHES(me, PEER2) && (up[me] & BIT(PEER2)) -> y = PEER2; lose(y)
     :: MAY_ACT && REACHES(me, PEER2) && !(up[me] & BIT(PEER2)) -> y = PEER2; find(y)
#endif
        /* PARTS_MS */
     :: MAY_ACT && at[me].court == COLLECTS && (at[me].got & up[me]) != up[me] && TIMER ->
           rebuild()
     :: MAY_ACT && at[me].court == COLLECTS && (at[me].got & up[me]) == up[me] -> rebuild()
        /* Repetitions. */
     :: MAY_ACT && REPEATS && PART_DIFFERS(me) -> printf("%d: repeats\n", me); countRound(); at[me].isChanged = true
     :: MAY_ACT && REPEATS && !PARTS_DIFFER && STREAM_DIFFERS(me, PEER1) -> countRound(); y = PEER1; say(y, HERE)
#if N > 2
     :: MAY_ACT && REPEATS && !PARTS_DIFFER && STREAM_DIFFERS(me, PEER2) -> countRound(); y = PEER2; say(y, HERE)
#endif
     fi;
     if
     :: kind && (up[me] & BIT(me_from)) ->
        printf("%d has %e of %d\n", me, kind, me_from);
        if
        :: kind == STARTED -> started(me_from)
        :: kind == FRAME -> frame(me_from)
        :: kind == ENDED -> ended(me_from)
        :: kind == HOLD ->
           y = me_from;
           if :: b == 1 && HOME(me) == me && at[me].court == DECIDES -> 
#ifndef FAULT_HOME_KEEPS
              isOther = true; viewed(); isOther = false
#else
              skip
#endif
           :: else fi;
           say(y, HERE)
        :: kind == PART || kind == HERE ->
           raise(u); raise(top);
           y = c; 
           if
           :: kind == HERE && c == TALKS -> started(me_from)
           :: kind == HERE && c != TALKS ->
              if :: at[me].on == me_from + 1 -> endOn(); moveUp() :: else fi;
              if :: at[me].next == me_from + 1 -> dropNext() :: else fi
           :: else
           fi;
           if
           :: at[me].court == COLLECTS ->
              told[me * N + me_from].claim = c; told[me * N + me_from].burst = b; told[me * N + me_from].turn = u;
              at[me].got = at[me].got | BIT(me_from)
           :: at[me].court == DECIDES -> decide(me_from)
           :: else
           fi
        :: else -> carryOut(me_from, kind, b, u, a)
        fi
     :: else
     fi;
     /* What changed is told: to ourselves in this step, to another home by a message. */
     do
     :: vKind ->
        kind = vKind; vKind = 0;
        carryOut(me, kind, vBurst, vTurn, vAfter)
     :: !vKind && at[me].isChanged ->
        at[me].isChanged = false;
        b = at[me].burst; u = at[me].turn; c = at[me].claim; top = TOP(me);
        if
        :: HOME(me) == me && at[me].court == DECIDES -> decide(me)
        :: HOME(me) == me && at[me].court != DECIDES
        :: HOME(me) != me -> y = HOME(me); say(y, PART)
        fi
     :: !vKind && !at[me].isChanged -> break
     od;
     kind = 0; b = 0; u = 0; a = 0; c = 0; top = 0; y = 0; me_from = 0;
     vBurst = 0; vTurn = 0; vAfter = 0; isOther = false;
     if
     :: isCalm && !isSettled && QUIET && IS_WHOLE && at[HOME(0)].court == DECIDES && !REPEATABLE -> isSettled = true
     :: else
     fi
     }
  od
}

/* Cuts and heals of single pairs: 1|2, 1|1|1 and what is not transitive. */
inline healed() {
  if :: !cut && cutsLeft + lossesLeft == 0 -> isCalm = true :: else fi
}

proctype network() {
end:
  do
  :: atomic { cutsLeft > 0 && !(cut & 1) -> printf("cut 0-1\n"); cutsLeft--; cut = cut | 1 }
  :: atomic { cut & 1 -> printf("heal 0-1\n"); cut = cut & ~1; healed() }
#if N > 2
  :: atomic { cutsLeft > 0 && !(cut & 2) -> printf("cut 0-2\n"); cutsLeft--; cut = cut | 2 }
  :: atomic { cut & 2 -> printf("heal 0-2\n"); cut = cut & ~2; healed() }
  :: atomic { cutsLeft > 0 && !(cut & 4) -> printf("cut 1-2\n"); cutsLeft--; cut = cut | 4 }
  :: atomic { cut & 4 -> printf("heal 1-2\n"); cut = cut & ~4; healed() }
#endif
  :: atomic { !cut && !isCalm && cutsLeft + lossesLeft > 0 -> printf("calm\n"); isCalm = true; cutsLeft = 0; lossesLeft = 0 }
  od
}

/* Bounded liveness: calm, and nothing is left to do. One home, one talker, the same burst on everywhere. */
proctype judge() {
  /* A history that fills a channel ends there, unjudged. */
end:
  timeout && isCalm && QUIET && !REPEATABLE ->
  assert(IS_WHOLE);
  x = 0; best = 0;
  do
  :: x < N ->
     assert(HOME(x) == HOME(0));
     assert(at[x].court == (x == HOME(0) -> DECIDES : AWAY));
     assert(at[x].claim == NONE || at[x].claim == TALKS);
     assert(!at[x].next);
     if
     :: at[x].claim == TALKS -> assert(!best); best = x + 1
     :: else
     fi;
     x++
  :: else -> x = 0; break
  od;
  assert(at[HOME(0)].holder == best);
  do
  :: x < N ->
     assert(at[x].on == best);
     if
     :: best -> assert(at[x].onBurst == at[best - 1].burst && at[x].onTurn == at[best - 1].turn &&
                 at[HOME(0)].heldTurn == at[best - 1].turn)
     :: else
     fi;
     x++
  :: else -> break
  od
}

init {
  atomic {
    do
    :: x < N ->
#ifdef APART
       up[x] = BIT(x); at[x].court = DECIDES;
#else
       up[x] = ALL; at[x].court = (x == HOME(x) -> DECIDES : AWAY);
#endif
       x++
    :: else -> x = 0; break
    od;
#ifdef APART
    cut = (N == 2 -> 1 : 7);
#endif
#ifdef HEALTHY
    isCalm = true; isSettled = true;
#endif
    do
    :: x < N -> run relay(x); x++
    :: else -> x = 0; break
    od;
    run network();
    run judge()
  }
}
