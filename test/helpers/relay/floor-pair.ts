// Two relays that share the floors of their talkgroups, and what their radios hear of them.
import type { Test } from 'tap';
import type { FloorMode } from '../../../src/protocol/codes.js';
import { homeOf } from '../../../src/relay/shared-floor/home.js';
import { createMemoryNetwork } from './memory-bus.js';
import { directory, type RelayOn, reached, relayOn, sharing } from './relays.js';

export type Radio = Awaited<ReturnType<RelayOn['radio']>>;

export interface FloorRelays {
  readonly mode?: FloorMode;
  readonly role?: 'user' | 'admin';
  readonly maxTalkMs?: number;
  readonly limits?: NonNullable<Parameters<typeof relayOn>[2]['limits']>;
}

/** Relays with a radio on each. The first one decides the floor of talkgroup 1, and the next one when that is gone. */
export async function floorRelays(
  t: Test,
  count: number,
  { mode = 'single', role = 'user', maxTalkMs = 0, limits = {} }: FloorRelays = {},
) {
  const network = createMemoryNetwork();
  const reads = directory(mode, role);
  reads.setMaxTalkMs(maxTalkMs);
  let numbers = Array.from({ length: count }, (_, at) => at + 1);
  const relays: RelayOn[] = [];
  for (const number of numbers) relays.push(relayOn(t, network, { number, reads, limits }));
  await reached(...relays);
  const byWeight: RelayOn[] = [];
  while (numbers.length > 0) {
    const home = homeOf(numbers, 1);
    byWeight.push(relays[home - 1] as RelayOn);
    numbers = numbers.filter((number) => number !== home);
  }
  const radios: Radio[] = [];
  for (const relay of byWeight) radios.push(await relay.radio());
  await sharing(2, ...relays);
  return { network, reads, relays: byWeight, radios };
}

/** Two of them: the one that decides, and the other one. */
export async function floorPair(t: Test, options: FloorRelays = {}) {
  const { network, reads, relays, radios } = await floorRelays(t, 2, options);
  const [home, other] = relays as [RelayOn, RelayOn];
  const [near, far] = radios as [Radio, Radio];
  return { network, reads, home, other, near, far };
}

/** Types and codes of all that came, or the text of a frame. */
export const story = ({ arrivals }: Radio) =>
  arrivals.flatMap((one) => {
    if ('frame' in one) return [one.frame];
    const { type, code, session } = one;
    if (type === 'WELCOME' || type === 'PRESENCE' || type === 'REACH') return [];
    return [[type, session, code].filter((part) => part !== undefined).join(' ')];
  });

/** The bursts that a radio heard: their sessions in order, each with its frames. Fails `t` when two overlap. */
export function burstsHeard(t: Pick<Test, 'fail'>, { arrivals }: Radio) {
  const heard: { session: number; burst: number; frames: string[]; code: string | null }[] = [];
  let on: (typeof heard)[number] | null = null;
  for (const one of arrivals) {
    if ('frame' in one) {
      const { sender, burst, frame } = one as { frame: string; sender: number; burst: number };
      if (on?.session !== sender || on.burst !== burst) t.fail(`a frame of ${sender} beside ${on?.session}`);
      on?.frames.push(frame);
    } else if (one.type === 'TALK_STARTED') {
      if (on !== null) t.fail(`${one.session} begins before the end of ${on.session}`);
      on = { session: Number(one.session), burst: Number(one.burst), frames: [], code: null };
      heard.push(on);
    } else if (one.type === 'TALK_ENDED') {
      if (on?.session !== one.session || on?.burst !== one.burst)
        t.fail(`${one.session} ends and was not on`);
      if (on !== null) on.code = String(one.code);
      on = null;
    }
  }
  return heard;
}
