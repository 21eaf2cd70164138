// Says what the talkgroups of a user, its keys and the modes of its sessions have to do with it that a radio hears nothing.
import { liveOf, subject } from './connections.js';
import type { Facts } from './facts.js';
import type { Finding } from './finding.js';
import { clock, list } from './wording.js';

/** Without audio for this time (ms) a talkgroup is quiet. */
const QUIET_MS = 60_000;

export function* missingMembership({ shown, talkgroup }: Facts): Iterable<Finding> {
  const { username } = shown.user;
  if (talkgroup === null && shown.talkgroups_total === 0)
    yield {
      code: 'no_talkgroup',
      text: `${username} is a member of no talkgroup.`,
      action: `Add ${username} to a talkgroup, or let the app join one.`,
    };
  if (talkgroup?.is_member === false)
    yield {
      code: 'not_member',
      text: `${username} is not a member of ${talkgroup.name}.`,
      action: `Add ${username}, or let the app join.`,
    };
}

/** A cause in some talkgroups of the user. */
export interface InTalkgroups extends Finding {
  readonly names: readonly string[];
}

export function* missingKeys(facts: Facts): Iterable<InTalkgroups> {
  const { user, key_holders: holders } = facts.shown;
  const required = concerned(facts).filter(({ encryption }) => encryption === 'required');
  const without = required.filter(({ may_have_keys }) => !may_have_keys).map(({ name }) => name);
  if (without.length > 0)
    yield {
      ...{ code: 'no_permission', names: without },
      text: `Encryption is required in ${list(without)}, and ${user.username} may not have the keys.`,
      action: `Permit ${user.username} to have the keys.`,
    };
  if (required.length === 0 || (holders.accepted > 0 && holders.waiting === 0)) return;
  const names = required.map(({ name }) => name);
  yield {
    ...{ code: 'no_holder', names },
    text:
      holders.waiting > 0
        ? `Encryption is required in ${list(names)}, and ${holders.waiting} of the key holders of ${user.username} wait to be accepted.`
        : `Encryption is required in ${list(names)}, and ${user.username} has no key holder.`,
    action:
      holders.waiting > 0 ? 'Accept the key holder of the radio.' : 'Let the app register a key holder.',
  };
}

export function* unheard(facts: Facts): Iterable<InTalkgroups> {
  const names = new Map<string, string>(concerned(facts).map(({ id, name }) => [id, name]));
  for (const session of liveOf(facts)) {
    const inMode = (wanted: string) =>
      session.exceptions.flatMap(({ talkgroup_id, mode }) =>
        mode === wanted ? (names.get(talkgroup_id) ?? []) : [],
      );
    const [none, events] = [inMode('none'), inMode('events')];
    if (none.length > 0)
      yield {
        ...{ code: 'unsubscribed', names: none },
        text: `${subject(session, facts)} is unsubscribed from ${list(none)}.`,
        action: 'The app must subscribe in mode talk or listen.',
      };
    if (events.length > 0)
      yield {
        ...{ code: 'events_only', names: events },
        text: `${subject(session, facts)} has ${list(events)} in mode events and gets no audio there.`,
        action: 'The app must subscribe in mode talk or listen.',
      };
  }
}

/** The talkgroup in question, or all that are shown. */
export const concerned = ({ shown, talkgroup }: Facts) =>
  talkgroup === null ? shown.talkgroups : talkgroup.is_member ? [talkgroup] : [];

export function* quietTalkgroup(facts: Facts): Iterable<Finding> {
  const { talkgroup, audioAt, unixMs } = facts;
  if (talkgroup?.is_member !== true) return;
  if (audioAt !== null && unixMs - Date.parse(audioAt) < QUIET_MS) return;
  yield {
    code: 'quiet',
    text:
      audioAt === null
        ? `No relay remembers audio in ${talkgroup.name}.`
        : `No audio was relayed in ${talkgroup.name} since ${clock(audioAt)}.`,
    action: 'Let another member talk, and ask again meanwhile.',
  };
}
