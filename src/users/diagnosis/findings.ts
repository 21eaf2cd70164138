// Says in sentences why a radio may hear nothing: a function of what the database and the relays know.
import {
  connectedOf,
  cutOff,
  inside,
  laggingSessions,
  liveOf,
  missingSession,
  rejection,
  subject,
} from './connections.js';
import type { Facts } from './facts.js';
import type { Finding } from './finding.js';
import {
  concerned,
  type InTalkgroups,
  missingKeys,
  missingMembership,
  quietTalkgroup,
  unheard,
} from './memberships.js';
import { list, nodes } from './wording.js';

/**
 * In the order of `findingCodes`, with three exceptions. `relay_silent` comes first when no node answered. When a connection of
 * the user was found, it comes behind `lagging`: what is known of the connection does not depend on the other nodes. Without a
 * talkgroup in question, a cause that leaves the radio other talkgroups comes behind `lagging`, too. Never empty: without a
 * cause it has `in_order`.
 */
export function findingsOf(facts: Facts): Finding[] {
  const silent = silentRelays(facts);
  const isFound = connectedOf(facts).length > 0;
  const [all, some] = parted([...missingKeys(facts), ...unheard(facts)], facts);
  const causes = [
    ...(facts.answered === 0 ? silent : []),
    ...disabledDevice(facts),
    ...rejection(facts),
    ...(facts.answered > 0 && !isFound ? silent : []),
    ...missingSession(facts),
    ...missingMembership(facts),
    ...all,
    ...laggingSessions(facts),
    ...some,
    ...(isFound ? silent : []),
    ...cutOff(facts),
    ...quietTalkgroup(facts),
  ];
  return [...causes, ...(causes.length === 0 ? inOrder(facts) : []), ...noDevice(facts)];
}

/** Those that concern each talkgroup in question, and those that leave the radio others. */
function parted(causes: readonly InTalkgroups[], { shown, talkgroup }: Facts): [Finding[], Finding[]] {
  const all: Finding[] = [];
  const some: Finding[] = [];
  for (const { names, ...finding } of causes)
    (talkgroup !== null || names.length === shown.talkgroups_total ? all : some).push(finding);
  return [all, some];
}

/** One or none. */
function silentRelays({ asked, answered, relays }: Facts): Finding[] {
  if (asked === 0)
    return [
      {
        code: 'relay_silent',
        text: 'No node of the service is running, or none listens to this database.',
        action: 'Start the service, or name its database.',
      },
    ];
  if (answered < asked)
    return [
      {
        code: 'relay_silent',
        text: `${asked - answered} of ${nodes(asked)} did not answer. Sessions there are missing here.`,
        action: 'Look at /readyz and at the log of each node.',
      },
    ];
  if (relays.answered < relays.known)
    return [
      {
        code: 'relay_silent',
        text: `The nodes know of ${relays.known} relay threads, and ${relays.answered} answered. The others have lost the database. Sessions there are missing here.`,
        action: 'Look at /readyz of each node.',
      },
    ];
  return [];
}

function* disabledDevice({ shown: { user, device } }: Facts): Iterable<Finding> {
  if (device?.active === false)
    yield {
      code: 'device_disabled',
      text: `The device ${device.name} of ${user.username} is disabled.`,
      action: 'Enable the device.',
    };
}

function* inOrder(facts: Facts): Iterable<Finding> {
  const { shown, talkgroup, unixMs } = facts;
  const names = concerned(facts).map(({ name }) => name);
  const sent = list(names, talkgroup === null ? shown.talkgroups_total : names.length);
  for (const session of liveOf(facts)) {
    const heardS = Math.max(0, Math.round((unixMs - Date.parse(session.heard_at)) / 1000));
    const { round_trip_ms: ms } = session;
    yield {
      code: 'in_order',
      text: `The relay sends ${sent} to ${inside(subject(session, facts))}, which was heard ${heardS} s ago${ms === null ? '' : ` and answered a ping after ${ms} ms`}.`,
      action: `Look at volume, mute and sound settings of the app.${talkgroup === null ? ' Then ask again with the talkgroup in question.' : ''}`,
    };
  }
}

function* noDevice({ shown: { user, device } }: Facts): Iterable<Finding> {
  if (device === null)
    yield {
      code: 'no_device',
      text: `${user.username} has no device, so there is no position and no lock by device. This keeps no audio away.`,
      action: 'Link a device by its serial.',
    };
}
