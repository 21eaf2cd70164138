// One node with its faults and its judgement.
import { randomFrom } from '../helpers/random.js';
import { openPart, type Part, playEpisode, type Run, type Subject } from './episode.js';
import { schedule } from './faults.js';
import { breaches } from './invariants.js';
import { openRecordingBook } from './recordings.js';
import { recover } from './recovery.js';
import { openScene, type Scene } from './scene.js';

/** Starts it. */
export async function openOneNode(settings: Record<string, string>, seed: number): Promise<Run> {
  const scene = await openScene(settings);
  const parts: Part[] = [];
  const book = openRecordingBook(scene.sql);
  const subject: Subject<Scene> = {
    ...{ whole: scene, parts },
    schedule: (episode, ms) => schedule(randomFrom(episode), ms),
    async recover() {
      await recover([scene]);
      return '';
    },
    judge: async (histories) => [...histories.flatMap(breaches), ...(await book.judge(histories))],
  };
  return {
    async prepare() {
      const part = await openPart(scene, { random: randomFrom(seed), newcomers: 'newcomer', writers: 3 });
      parts.push(part);
      const { descriptors, residentMiB } = part.baseline;
      return `${scene.crew.length} radios; ${descriptors} descriptors, ${residentMiB} MiB before the first`;
    },
    play: (episode, ms) => playEpisode(subject, { seed: episode, ms }),
    lastLines: scene.server.lastLines,
    close: scene.close,
  };
}
