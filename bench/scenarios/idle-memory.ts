// What an idle radio costs in memory: the server's resident set with none and with a thousand of them.
import { setTimeout } from 'node:timers/promises';
import { kib, mib } from '../figures.js';
import { residentBytes } from '../processes.js';
import type { Bench, Report } from '../scenario.js';
import { withRelay } from '../server.js';
import { joinAll } from '../swarm.js';
import { enlist } from '../users.js';
import { RawRadio } from '../wire.js';

const RADIOS = 1_000;
/** A process is measured when it has done nothing for so long. */
const SETTLE_MS = 3_000;

interface Measured {
  readonly relayThreads: number;
  readonly emptyBytes: number;
  readonly fullBytes: number;
  readonly bytesPerRadio: number;
  readonly ownBytesPerRadio: number;
}

export async function idleMemory(bench: Bench): Promise<Report> {
  const measured: Measured[] = [];
  for (const relayThreads of [1, 0]) measured.push(await measure(bench, relayThreads));
  const lines = [
    `server memory (RSS)      ready, no radio   ${RADIOS} idle radios   per radio`,
    ...measured.map(
      ({ relayThreads, emptyBytes, fullBytes, bytesPerRadio }) =>
        `RELAY_THREADS=${relayThreads}          ${mib(emptyBytes).padStart(15)}${mib(fullBytes).padStart(20)}${kib(bytesPerRadio).padStart(12)}`,
    ),
  ];
  return { lines, result: { load: { radios: RADIOS, settleMs: SETTLE_MS }, measured } };
}

async function measure({ cores, signal, progress }: Bench, relayThreads: number): Promise<Measured> {
  const settings = { RELAY_THREADS: `${relayThreads}`, LOG_LEVEL: 'warn' };
  progress(`RELAY_THREADS=${relayThreads}`);
  return withRelay({ cores: cores.server, signal, settings }, async (relay) => {
    const users = await enlist(relay, { users: RADIOS });
    await setTimeout(SETTLE_MS, undefined, { signal });
    const empty = residentBytes(relay.pid);
    const failure = new AbortController();
    const lost = (error: Error) => failure.abort(error);
    const radios = await joinAll(
      users,
      (token) => new RawRadio({ target: relay, token, receive: () => {}, lost }),
    );
    try {
      await setTimeout(SETTLE_MS, undefined, { signal: AbortSignal.any([signal, failure.signal]) });
      const full = residentBytes(relay.pid);
      return {
        relayThreads,
        emptyBytes: empty.all,
        fullBytes: full.all,
        bytesPerRadio: (full.all - empty.all) / RADIOS,
        ownBytesPerRadio: (full.own - empty.own) / RADIOS,
      };
    } finally {
      for (const radio of radios) radio.drop();
    }
  });
}
