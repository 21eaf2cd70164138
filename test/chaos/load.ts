// What goes on in every episode: talk in all talkgroups, writes by REST, logins, and questions for health.
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../helpers/random.js';
import type { Part } from './episode.js';
import type { Ledger } from './ledger.js';
import { type CrewRadio, mayTalk, type Talkgroup } from './radio.js';

export interface LoadOptions {
  readonly ledger: Ledger;
  readonly random: Random;
  /** This many write by REST at a time. */
  readonly writers: number;
}

/** Starts all of it. The returned function lets everything come to its end. */
export function startLoad(
  scene: Part['scene'],
  { ledger, random, writers }: LoadOptions,
): () => Promise<void> {
  let isOver = false;
  const again = async (pauseMs: readonly [number, number], act: () => Promise<unknown>) => {
    while (!isOver) {
      await act();
      await pause(random.whole(...pauseMs));
    }
  };
  const going = [
    ...scene.talkgroups.map((talkgroup) => again([50, 500], () => talkIn(talkgroup, scene.crew, random))),
    ...Array.from({ length: writers }, () => again([20, 200], () => ledger.write())),
    again([300, 1500], () => scene.login(random.whole(0, 100))),
    again([150, 250], () => scene.health()),
  ];
  return async () => {
    isOver = true;
    await Promise.all(going);
  };
}

/** One burst, at times two at once: in a talkgroup for one talker they are in each other's way. */
async function talkIn(talkgroup: Talkgroup, crew: readonly CrewRadio[], random: Random): Promise<void> {
  const members = crew.filter(
    (radio) => radio.isOpen && radio.talkgroups.includes(talkgroup) && mayTalk(radio, talkgroup),
  );
  const talkers = random.some(members, random.next() < 0.3 ? 2 : 1);
  await Promise.all(talkers.map((radio) => radio.talk(talkgroup, random.whole(5, 50))));
}
