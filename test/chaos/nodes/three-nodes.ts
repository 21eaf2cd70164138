// Three nodes over NATS with their faults and their judgement.
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../helpers/eventually.js';
import { programPath } from '../../helpers/programs.js';
import { randomFrom } from '../../helpers/random.js';
import { openPart, type Part, playEpisode, type Run, type Subject, watchStalls } from '../episode.js';
import { type Breach, breaches } from '../invariants.js';
import { openRecordingBook } from '../recordings.js';
import { recover } from '../recovery.js';
import { dealBuilds, mainOf } from './builds.js';
import { type Cluster, openCluster, ownerOf } from './cluster.js';
import { scheduleOverNodes } from './faults.js';
import { breachesOverNodes } from './judge.js';

/** A lost message is noticed within 8 s. A radio that began nine bursts in 10 s is dropped for 2 s more. */
const HEARD_MS_MAX = 10_000;
/** A burst of a lost node or a lost end may seem to run for so long (docs/protocol.md, several nodes). */
const FREE_MS_MAX = 8000;
/** Between two parts of the judgement. */
const LINKS_MS = 50;

/** Starts all of it. `oldBuild` is the folder of another build that runs one of the nodes. Empty: none. */
export async function openThreeNodes(
  settings: Record<string, string>,
  { seed, oldBuild }: { readonly seed: number; readonly oldBuild: string },
): Promise<Run> {
  const oldMain = oldBuild === '' ? null : mainOf(oldBuild);
  if (programPath('nats-server') === null)
    throw new Error('nats-server is not installed. On Debian: apt-get install nats-server');
  const owner = ownerOf();
  const cluster = await openCluster(settings, owner).catch(async (error) => {
    await owner.close();
    throw error;
  });
  const { scenes } = cluster;
  const watch = watchStalls();
  owner.teardown(watch.stop);
  const parts: Part[] = [];
  const [first] = scenes;
  // Another build may record nothing, or with a limit of its own.
  const book = first === undefined || oldMain !== null ? null : openRecordingBook(first.sql);
  const subject: Subject<Cluster> = {
    ...{ whole: cluster, parts },
    schedule: (episode, ms) => scheduleOverNodes(randomFrom(episode), ms),
    recover: () => recoverOverNodes(cluster),
    async judge(histories, broken) {
      const found: Breach[] = [];
      for (const [at, history] of histories.entries()) {
        for (const { invariant, what } of breaches(history))
          found.push({ invariant, what: `node ${at}: ${what}` });
        await pause(LINKS_MS); // all links are in this process, and stand still meanwhile
      }
      const talkgroups = scenes[0]?.talkgroups ?? [];
      return [
        ...found,
        ...breachesOverNodes({ histories, broken, stalls: watch.stalls, talkgroups }),
        ...((await book?.judge(histories)) ?? []),
      ];
    },
  };
  return {
    async prepare() {
      const opened = scenes.map((scene, at) =>
        openPart(scene, { random: randomFrom(seed + at), newcomers: `newcomer-${at}`, writers: 1 }),
      );
      parts.push(...(await Promise.all(opened)));
      const memory = parts.map(({ baseline }) => `${baseline.residentMiB} MiB`);
      return `${scenes.flatMap(({ crew }) => crew).length} radios; ${memory.join(', ')} before the first`;
    },
    async play(episode, ms) {
      if (oldMain === null) return playEpisode(subject, { seed: episode, ms });
      const found: Breach[] = [];
      const servers = scenes.map(({ server }) => server);
      const old = await dealBuilds(servers, { oldMain, episode });
      // Before the episode: what is lost while a node changes its build is not judged, and all must be well then.
      await recoverOverNodes(cluster).catch(({ message }: Error) => {
        found.push({ invariant: 'builds', what: message });
      });
      const report = await playEpisode(subject, { seed: episode, ms });
      const figures = `node ${old} runs ${oldMain}\n  ${report.figures}`;
      return { ...report, figures, breaches: [...found, ...report.breaches] };
    },
    lastLines: (count) =>
      scenes.flatMap(({ server }, at) => server.lastLines(count).map((line) => `node ${at}: ${line}`)),
    close: owner.close,
  };
}

/** Judged from when NATS itself is whole again. */
async function recoverOverNodes({ nats, scenes }: Cluster): Promise<string> {
  await nats.isWhole();
  const sinceMs = performance.now();
  await recover(scenes, HEARD_MS_MAX);
  const heardMs = performance.now() - sinceMs;
  const talked = scenes.flatMap(({ crew }) => crew);
  await eventually(() => {
    const busy = talked.filter((radio) => !radio.hearsNobody).map(({ index }) => index);
    if (busy.length > 0)
      throw new Error(`nobody talks, and radios ${busy.join(', ')} were told of no end of a burst`);
  }, FREE_MS_MAX);
  const freeMs = performance.now() - sinceMs;
  return `each heard each after ${Math.round(heardMs)} ms, floors free after ${Math.round(freeMs)} ms`;
}
