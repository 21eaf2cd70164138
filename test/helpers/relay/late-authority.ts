// The local authority as a session hears it from another node: first frames and requests are answered later.

import {
  type Authority,
  type ClaimEvent,
  createLocalAuthority,
  type LocalAuthorityOptions,
} from '../../../src/relay/floor/authority.js';
import type { Talkgroup } from '../../../src/relay/members/members.js';

type Question = Extract<ClaimEvent, { readonly kind: 'frame' | 'request' }>;

interface Open {
  readonly talkgroup: Talkgroup;
  question: Question;
}

/** Calls `answer`, which answers the oldest question, once for each question. */
export type When = (answer: () => void) => void;

/** Questions are answered when the call that put them has returned, before the next message of any radio. */
export const soon: When = (answer) => process.nextTick(answer);

/** Questions are answered after so many turns of the loop. */
export const afterTurns =
  (turns: number): When =>
  (answer) => {
    const wait = (left: number): void => void setImmediate(() => (left > 1 ? wait(left - 1) : answer()));
    wait(turns);
  };

/** Questions are answered after so long. */
export const afterMs =
  (ms: number): When =>
  (answer) =>
    void setTimeout(answer, ms).unref();

/** By the setting of the tests that play others again. undefined: answers come at once. */
export function authorityOfTests(): ((options: LocalAuthorityOptions) => Authority) | undefined {
  const setting = process.env.TEST_LATE_ANSWERS;
  if (setting === undefined) return undefined;
  return (options) => createLateAuthority(options, setting === 'soon' ? soon : afterMs(Number(setting)));
}

export interface LateAuthority extends Authority {
  /** Questions without an answer. */
  open(): number;
  /** Answers the oldest question. */
  answer(): void;
  /** The same, as when no home decided in time. */
  giveUp(retryMs: number): void;
}

/** Without `when` they are answered when told. `clock` is that of the relay. */
export function createLateAuthority(
  options: LocalAuthorityOptions,
  when: When = () => {},
  clock: () => number = () => performance.now(),
): LateAuthority {
  const held = new Map<Talkgroup, Set<number>>();
  const open: Open[] = [];
  const { onVerdicts } = options;
  const local = createLocalAuthority({
    ...options,
    onVerdicts(talkgroup, verdicts, nowMs) {
      const holders = held.get(talkgroup) ?? new Set();
      held.set(talkgroup, holders);
      for (const verdict of verdicts) {
        if (verdict.kind === 'granted') holders.add(verdict.holder.claim.session);
        else if (verdict.kind === 'gone') holders.delete(verdict.session);
      }
      onVerdicts(talkgroup, verdicts, nowMs);
    },
  });

  function put(talkgroup: Talkgroup, question: Question, nowMs: number): void {
    const { session } = question.claim;
    if (held.get(talkgroup)?.has(session)) return local.tell(talkgroup, [question], nowMs);
    const isSecond = open.some(
      (one) => one.talkgroup === talkgroup && one.question.claim.session === session,
    );
    if (isSecond) throw new Error('a second question before the answer to the first');
    const one = { talkgroup, question };
    open.push(one);
    when(() => {
      const index = open.indexOf(one); // -1: it was withdrawn, or answered by hand
      if (index >= 0) answer(open.splice(index, 1)[0]);
    });
  }

  function answer(one: Open | undefined): void {
    if (one !== undefined) local.tell(one.talkgroup, [one.question], clock());
  }

  /** Takes out the questions there: of the session, or all. */
  function withdraw(talkgroup: Talkgroup, session?: number): void {
    for (const one of [...open]) {
      const isOf = session === undefined || one.question.claim.session === session;
      if (one.talkgroup === talkgroup && isOf) open.splice(open.indexOf(one), 1);
    }
  }

  function follow(talkgroup: Talkgroup, { sessions, inEmergency }: ClaimEvent & { kind: 'emergency' }): void {
    for (const one of open) {
      const { question } = one;
      if (one.talkgroup === talkgroup && sessions.has(question.claim.session))
        one.question = { ...question, claim: { ...question.claim, inEmergency } };
    }
  }

  return {
    ...local,
    tell(talkgroup, claims, nowMs) {
      for (const claim of claims) {
        if (claim.kind === 'frame' || claim.kind === 'request') put(talkgroup, claim, nowMs);
        else {
          const isOver = claim.kind === 'release' || claim.kind === 'removed';
          if (isOver || (claim.kind === 'lost' && claim.forGood)) withdraw(talkgroup, claim.session);
          if (claim.kind === 'emergency') follow(talkgroup, claim);
          local.tell(talkgroup, [claim], nowMs);
        }
      }
    },
    close(talkgroup, nowMs) {
      withdraw(talkgroup);
      local.close(talkgroup, nowMs);
    },
    open: () => open.length,
    answer: () => answer(open.shift()),
    giveUp(retryMs) {
      const one = open.shift();
      if (one === undefined) return;
      const { session } = one.question.claim;
      const isFirstFrame = one.question.kind === 'frame';
      // A request that no home decided leaves no place in the queue.
      if (!isFirstFrame) local.tell(one.talkgroup, [{ kind: 'release', session, code: 'released' }], clock());
      const denied = { kind: 'denied', session, code: 'retry_later', retryMs, isFirstFrame } as const;
      onVerdicts(one.talkgroup, [denied], clock());
    },
  };
}
