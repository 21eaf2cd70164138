// Three nodes over three nats-servers and one PostgreSQL: the radios are dealt out over them, and talk in all floor modes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../helpers/eventually.js';
import { type NatsCluster, PLACES, startNatsCluster } from '../../helpers/network/nats-cluster.js';
import type { Owner } from '../../helpers/network/nats-server.js';
import { programPath } from '../../helpers/programs.js';
import { randomFrom } from '../../helpers/random.js';
import { createDatabase } from '../database.js';
import { openPart, type Part, playEpisode, type Run, type Subject } from '../episode.js';
import { breaches } from '../invariants.js';
import type { CrewRadio, Person } from '../radio.js';
import { recover } from '../recovery.js';
import { areOpen, createNode, createRadioAt, sceneOf } from '../scene.js';
import { recruit, type Staff, type TalkgroupPlan } from '../staff.js';
import { scheduleOverNodes } from './faults.js';
import { breachesOverNodes } from './judge.js';

/** What the faults break something of. */
export interface Cluster {
  readonly nats: NatsCluster;
  /** By number of the node. */
  readonly scenes: readonly Part['scene'][];
}

/** Every fourth of the crew may talk in the last one: one on each node, and two on one of them. */
const TALKGROUPS: readonly TalkgroupPlan[] = [
  { name: 'Fire', mode: 'open', from: 0, to: 12 },
  { name: 'Harbour', mode: 'open', from: 8, to: 20 },
  { name: 'Police', mode: 'single', from: 12, to: 24 },
  { name: 'Taxi', mode: 'single', from: 20, to: 32 },
  { name: 'Chiefs', mode: 'broadcast', from: 4, to: 20 },
];

/** A burst of a lost node or a lost end may seem to run for so long (docs/protocol.md, several nodes). */
const FREE_MS_MAX = 8000;

/** Starts all of it, and has it under load for some seconds. */
export async function openThreeNodes(settings: Record<string, string>, seed: number): Promise<Run> {
  if (programPath('nats-server') === null)
    throw new Error('nats-server is not installed. On Debian: apt-get install nats-server');
  const owner = ownerOf();
  try {
    const cluster = await openCluster(settings, owner);
    const { scenes } = cluster;
    const parts = await Promise.all(
      scenes.map((scene, at) =>
        openPart(scene, { random: randomFrom(seed + at), newcomers: `newcomer-${at}`, writers: 1 }),
      ),
    );
    const subject: Subject<Cluster> = {
      ...{ whole: cluster, parts },
      schedule: (episode, ms) => scheduleOverNodes(randomFrom(episode), ms),
      recover: () => recoverOverNodes(cluster),
      judge: (histories, broken) => [
        ...histories.flatMap((history, at) =>
          breaches(history).map(({ invariant, what }) => ({ invariant, what: `node ${at}: ${what}` })),
        ),
        ...breachesOverNodes({ histories, broken, talkgroups: scenes[0]?.talkgroups ?? [] }),
      ],
    };
    return {
      about: `3 nodes, ${parts.map(({ baseline }) => `${baseline.residentMiB} MiB`).join(', ')} before the first`,
      play: (episode, ms) => playEpisode(subject, { seed: episode, ms }),
      lastLines: (count) =>
        scenes.flatMap(({ server }, at) => server.lastLines(count).map((line) => `node ${at}: ${line}`)),
      close: owner.close,
    };
  } catch (error) {
    await owner.close();
    throw error;
  }
}

async function openCluster(settings: Record<string, string>, owner: Owning): Promise<Cluster> {
  const database = await createDatabase();
  owner.teardown(database.drop);
  const nats = await startNatsCluster(owner);
  const radioOfSession = new Map<number, number>();
  const nodes = [];
  for (const at of PLACES) {
    const node = await createNode({ ...settings, NATS_URL: nats.url(at) }, { database, radioOfSession });
    owner.teardown(node.stop);
    await node.server.start();
    nodes.push(node);
  }
  const [first] = nodes;
  if (first === undefined) throw new Error('no node');
  const staff = await recruit(first.call, { sql: database.sql, plans: TALKGROUPS });
  const scenes = nodes.map((node, at) => {
    const dealt = dealtTo(at, staff);
    const crew = dealt.crew.map((person) => createRadioAt(node, person, node.server.wsPort));
    owner.teardown(() => closeAll(crew));
    return sceneOf(node, { database, staff: dealt, crew });
  });
  await areOpen(scenes.flatMap(({ crew }) => crew));
  return { nats, scenes };
}

/** What of the staff is at this node. Each ledger has keys of its own. */
function dealtTo(node: number, staff: Staff): Staff {
  const mine = <T>(list: readonly T[]) => list.filter((_, index) => index % PLACES.length === node);
  return {
    ...staff,
    crew: mine<Person>(staff.crew),
    clerks: mine(staff.clerks),
    spareDevices: mine(staff.spareDevices),
  };
}

function closeAll(crew: readonly CrewRadio[]): void {
  for (const radio of crew) radio.close();
}

/** Judged from when NATS itself is whole again. */
async function recoverOverNodes({ nats, scenes }: Cluster): Promise<string> {
  await nats.isWhole();
  const sinceMs = performance.now();
  await recover(scenes);
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

interface Owning extends Owner {
  close(): Promise<void>;
}

/** Ends what was begun, the last first. */
function ownerOf(): Owning {
  const ends: (() => unknown)[] = [];
  return {
    testdir() {
      const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
      ends.push(() => rmSync(folder, { recursive: true }));
      return folder;
    },
    teardown: (end) => void ends.push(end),
    async close() {
      for (const end of ends.splice(0).reverse()) await end();
    },
  };
}
