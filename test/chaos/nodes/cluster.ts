// Three nodes, three nats-servers and one PostgreSQL, with the radios dealt out over the nodes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NatsCluster, PLACES, startNatsCluster } from '../../helpers/network/nats-cluster.js';
import type { Owner } from '../../helpers/network/nats-server.js';
import { createDatabase } from '../database.js';
import type { Part } from '../episode.js';
import type { CrewRadio, Person } from '../radio.js';
import { areOpen, createNode, createRadioAt, sceneOf } from '../scene.js';
import { recruit, type Staff, type TalkgroupPlan } from '../staff.js';

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

/** Starts all of it, and waits until each radio is connected. */
export async function openCluster(settings: Record<string, string>, owner: Owning): Promise<Cluster> {
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

export interface Owning extends Owner {
  close(): Promise<void>;
}

/** Ends what was begun, the last first. */
export function ownerOf(): Owning {
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
