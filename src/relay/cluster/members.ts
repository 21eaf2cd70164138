// Lists the members of a talkgroup at all relays: asks the others for a page of theirs, and joins it with that of this relay.
import type { Member } from '../../protocol/bodies.js';
import type { Clock } from '../clock.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Talkgroup } from '../members/members.js';
import { bodyOf } from '../nodes/body.js';
import { type Kind, kinds } from '../nodes/header.js';
import { joinPages, type MembersPage } from '../presence/messages.js';
import type { Presence, PresenceElsewhere } from '../presence/presence.js';
import { MEMBERS_TOLD_MAX, type MembersAsked, type MembersTold } from './bodies.js';
import { NumberedQuestions } from './question.js';

/** A relay that has not answered after this time (ms) is asked again. */
const AGAIN_MS = 75;
/** A relay that has not answered after this time (ms) is left out. */
const ASK_MS_MAX = 300;

export interface MembersOptions {
  readonly fanout: Pick<Fanout, 'online'>;
  readonly presence: Presence;
  /** Tells the others who came and left. */
  readonly roster: PresenceElsewhere;
  readonly clock: Clock;
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
}

/** A page under way, and what became known meanwhile of the members of other relays. */
interface Asking {
  readonly talkgroup: Talkgroup;
  /** The last that was told of each session. null: it left. */
  readonly told: Map<number, Member | null>;
  /** Names were lost. */
  isRecounted: boolean;
}

export type Members = ReturnType<typeof createMembers>;

export function createMembers({ fanout, presence, roster, clock, say }: MembersOptions) {
  const questions = new NumberedQuestions<MembersTold>(clock, AGAIN_MS);
  const asking = new Set<Asking>();

  return {
    /** Sessions elsewhere came or left. Which ones is not known. */
    recounted(talkgroup: Talkgroup): void {
      presence.recounted(talkgroup);
      for (const one of asking) if (one.talkgroup === talkgroup) one.isRecounted = true;
    },

    /** These sessions of another relay came and left. */
    toldElsewhere(talkgroup: Talkgroup, joined: readonly Member[], left: readonly number[]): void {
      presence.toldElsewhere(talkgroup, joined, left);
      for (const one of asking) {
        if (one.talkgroup !== talkgroup) continue;
        for (const session of left) one.told.set(session, null);
        for (const member of joined) one.told.set(member.session, member);
      }
    },

    /** Another relay asks for a page of those of this one. null: the talkgroup has no receivers here. */
    tell(relay: number, talkgroup: Talkgroup | null, { ask, after, limit }: MembersAsked): void {
      if (talkgroup !== null) presence.tellNow(talkgroup, roster);
      // A longer page may not fit in a message.
      const most = Math.min(limit, MEMBERS_TOLD_MAX);
      const { members, next } =
        talkgroup === null ? { members: [], next: null } : presence.page(talkgroup, after, most);
      const told: MembersTold = { ask, members: [...members], more: next !== null };
      say(relay, kinds.membersTold, bodyOf(told));
    },

    answered: (relay: number, told: MembersTold) => questions.answered(relay, told.ask, told),

    /** A page of the members of this relay and of these. */
    async page(
      talkgroup: Talkgroup,
      relays: readonly number[],
      after: number,
      limit: number,
    ): Promise<MembersPage> {
      const meanwhile: Asking = { talkgroup, told: new Map(), isRecounted: false };
      const ask = questions.next();
      const asked: MembersAsked = { ask, number: talkgroup.number, after, limit };
      const body = bodyOf(asked);
      asking.add(meanwhile);
      const answers = await questions.ask(ask, relays, ASK_MS_MAX, (relay) =>
        say(relay, kinds.membersAsked, body),
      );
      asking.delete(meanwhile);
      // The page may lack what was lost: PRESENCE names none of them next, and the client asks again.
      if (meanwhile.isRecounted || !answers.isWhole) presence.recounted(talkgroup);
      // As it is now: what was announced meanwhile must be in it.
      const own = presence.page(talkgroup, after, limit);
      const { told } = meanwhile;
      const others = answers.told.map(({ members, more }) => ({
        members: members.filter(({ session }) => !told.has(session)),
        next: more ? 0 : null,
      }));
      const came = [...told.values()].filter((one) => one !== null).filter(({ session }) => session > after);
      const { members, next } = joinPages([own, ...others, { members: came, next: null }], limit);
      return { online: fanout.online(talkgroup.feed), members, next };
    },

    /** The relay is down. */
    forget: (relay: number) => questions.forget(relay),

    close: () => questions.close(),
  };
}
