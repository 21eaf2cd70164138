// Radios that come, step by step, and say nothing: what a server's memory is then, and what their handshakes cost.
import { createVerifier } from 'fast-jwt';
import { around, nowMs } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { descendantsCpuUs } from '../../machine/descendants.js';
import { residentBytes } from '../../machine/processes.js';
import { arrive } from '../../radios/arrivals.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Target } from '../../radios/raw-radio.js';
import { answer, fail } from '../player.js';

export interface Load {
  /** Numbers of radios, growing: at each the memory is taken. */
  readonly steps: readonly number[];
  readonly arrivalsPerSecond: number;
  /** A process is measured when no radio came for so long. */
  readonly settleMs: number;
}

export interface IdleTask {
  readonly server: Target & { readonly pid: number };
  /** Of the last step. */
  readonly users: readonly Member[];
  readonly jwtSecret: string;
  readonly load: Load;
}

/** At one number of radios. */
export interface Step {
  readonly radios: number;
  /** The server's resident set, all of it, and what belongs to it alone and to no file. */
  readonly residentBytes: number;
  readonly ownBytes: number;
  /** For each radio that came in this step, without what the server uses when no radio comes. */
  readonly handshakeUs: number;
  /** The same of the processes the server has started: its database. */
  readonly databaseUs: number;
  readonly generatorShare: number;
  /** What neither server, database nor generator used. */
  readonly othersShare: number;
  readonly arrivalMs: number;
}

export interface Idle {
  /** The first is without radios. */
  readonly steps: readonly Step[];
  /** Of one token's signature, by the library the service uses, alone in a loop. */
  readonly signatureUs: number;
}

/** What a server still does for who has just joined: the answer to its ping, and the first of the garbage. */
const TAIL_MS = 500;

/** Signatures checked, behind as many that warm it up. */
const CHECKS = 20_000;

answer(play);

async function play({ server, users, jwtSecret, load }: IdleTask): Promise<Idle> {
  const signatureUs = signatureCheckUs(users, jwtSecret);
  const idle = await settle(server.pid, load.settleMs);
  const empty = residentBytes(server.pid);
  const steps: Step[] = [
    {
      radios: 0,
      residentBytes: empty.all,
      ownBytes: empty.own,
      handshakeUs: 0,
      databaseUs: 0,
      generatorShare: 0,
      othersShare: 0,
      arrivalMs: 0,
    },
  ];
  for (const radios of load.steps) {
    const before = steps.at(-1)?.radios ?? 0;
    const came = await come(before, radios);
    await settle(server.pid, load.settleMs);
    const { all, own } = residentBytes(server.pid);
    steps.push({ radios, residentBytes: all, ownBytes: own, ...came });
  }
  return { steps, signatureUs };

  async function come(from: number, to: number) {
    const before = reading(server.pid);
    await arrive({
      users: users.slice(from, to),
      firstIndex: from,
      perSecond: load.arrivalsPerSecond,
      connect: ({ token }, localAddress) =>
        new RawRadio({ target: server, token, localAddress, receive: () => {}, lost: fail }),
    });
    await around(nowMs() + TAIL_MS);
    const { atMs, serverUs, databaseUs, ...shares } = since(before);
    const each = (us: number, idleShare: number) => (us - 1000 * atMs * idleShare) / (to - from);
    return {
      handshakeUs: each(serverUs, idle.serverUs / 1000 / idle.atMs),
      databaseUs: each(databaseUs, idle.databaseUs / 1000 / idle.atMs),
      ...shares,
      arrivalMs: atMs - TAIL_MS,
    };
  }
}

/** What it uses while no radio comes. */
async function settle(pid: number, ms: number) {
  const before = reading(pid);
  await around(nowMs() + ms);
  return since(before);
}

function reading(pid: number) {
  return { pid, usage: readUsage([pid]), databaseUs: descendantsCpuUs(pid) };
}

function since({ pid, usage, databaseUs }: ReturnType<typeof reading>) {
  const passed = spent(usage, readUsage([pid]));
  const [serverUs = 0] = passed.serverUs;
  const ofDatabaseUs = descendantsCpuUs(pid) - databaseUs;
  const { generatorShare, othersShare } = sharesOf(passed);
  return {
    atMs: passed.atMs,
    serverUs,
    databaseUs: ofDatabaseUs,
    generatorShare,
    othersShare: Math.max(0, othersShare - ofDatabaseUs / 1000 / passed.atMs),
  };
}

/** With the options of the service, and warm as it never is between other work: rather too little is taken off. */
function signatureCheckUs(users: readonly Member[], secret: string): number {
  const verify = createVerifier({
    key: secret,
    algorithms: ['HS256'],
    requiredClaims: ['sub', 'username', 'role', 'iat'],
  });
  const checkAll = () => {
    for (let i = 0; i < CHECKS; i++) verify(users[i % users.length]?.token ?? '');
  };
  checkAll();
  const before = process.cpuUsage();
  checkAll();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CHECKS;
}
