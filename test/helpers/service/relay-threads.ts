// Radios on a relay thread that the test chooses.
import assert from 'node:assert/strict';
import { eventually } from '../eventually.js';
import type { Person, Radio, Service, TalkgroupSettings } from './service.js';

/** A relay takes session numbers in blocks of this many, one block after the other. */
const BLOCK = 1024;

/** The block of the radio's session: radios with the same are on the same thread. As long as no thread has had 1,024. */
export const threadOf = ({ session }: Pick<Radio, 'session'>): number => Math.floor(session / BLOCK);

/** A radio of the person on this thread. Linux chooses, so it connects until it is there. */
export async function radioOn(thread: number, person: Pick<Person, 'radio'>): Promise<Radio> {
  for (;;) {
    const radio = await person.radio();
    if (threadOf(radio) === thread) return radio;
    radio.socket.close(1000);
    await radio.closes();
  }
}

/** Two relay threads, found by a radio that connects until both have answered. */
export async function twoThreads(scout: Pick<Person, 'radio'>): Promise<readonly [number, number]> {
  const found: number[] = [];
  while (found.length < 2) {
    const radio = await scout.radio();
    if (!found.includes(threadOf(radio))) found.push(threadOf(radio));
    radio.socket.close(1000);
    await radio.closes();
  }
  const [one = 0, other = 0] = found;
  return [one, other];
}

/** Resolves when so many sessions are online in the talkgroup, as the radio is told. */
export const areOnline = (radio: Radio, id: string, count: number) =>
  eventually(async () => {
    const { talkgroups } = await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [id] });
    assert.equal((talkgroups as { online: number }[])[0]?.online, count);
  });

/** A talkgroup with two radios on each of the two threads: ann and abe on one, bob and bea on the other. */
export async function crewOverThreads(
  s: Service,
  settings: TalkgroupSettings,
  { areAdmins = false }: { areAdmins?: boolean } = {},
) {
  const { name } = settings;
  const role = areAdmins ? 'admin' : 'user';
  const [one, other] = await twoThreads(await s.person(`${name}-scout`));
  const people = await Promise.all(
    ['ann', 'abe', 'bob', 'bea'].map((each) => s.person(`${name}-${each}`, { role })),
  );
  const group = await s.talkgroupWith(settings, ...people);
  const [ann, abe, bob, bea] = await Promise.all(
    people.map((person, index) => radioOn(index < 2 ? one : other, person)),
  );
  assert.ok(ann && abe && bob && bea);
  for (const radio of [ann, bob]) await areOnline(radio, group.id, 4);
  return { group, people, ann, abe, bob, bea };
}
