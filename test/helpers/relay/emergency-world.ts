// Relays that raise, acknowledge and clear emergencies, in virtual time: their streams, a bus that loses messages, and a
// database that each of them may or may not reach.

import { randomUUID } from 'node:crypto';
import { type Notice, noticeOf } from '../../../src/db/notice.js';
import type { EmergencyRow } from '../../../src/directory/records.js';
import { AppError } from '../../../src/errors.js';
import type { UserId } from '../../../src/ids.js';
import type { EmergencyState } from '../../../src/protocol/codes.js';
import { bodyOfPiece, readBody } from '../../../src/relay/cluster/bodies.js';
import { newClusterCounts } from '../../../src/relay/cluster/counts.js';
import type { Members } from '../../../src/relay/cluster/members.js';
import { Stream } from '../../../src/relay/cluster/stream.js';
import { createEmergencies } from '../../../src/relay/emergencies/emergencies.js';
import { newFloorCounts } from '../../../src/relay/figures/floor-counts.js';
import type { RemoteServices } from '../../../src/relay/floor/remote.js';
import { Membership, Talkgroup, User } from '../../../src/relay/members/members.js';
import { HeaderWriter, newHeader, readHeader } from '../../../src/relay/nodes/header.js';
import { createSharedAuthority } from '../../../src/relay/shared-floor/authority.js';
import type { TurnsServices } from '../../../src/relay/shared-floor/turns/turns.js';
import { linkAlone } from '../cluster/alone.js';
import { clockAt, NO_TIMER } from './clocks.js';
import { talkgroupIdOf } from './relays.js';
import { accountRow, talkgroupRow } from './rows.js';

const TALKGROUP = talkgroupIdOf(1);
const DOWN_MS = 1500;
const TICK_MS = 250;

// Bursts and members play no part here.
const bursts = { in: () => new Set<never>(), remoteIn: () => new Set<never>() };
const noBursts = { bursts } as unknown as RemoteServices & { bursts: typeof bursts };
const noTurns = { bursts } as unknown as TurnsServices;
const noMembers = { recounted() {} } as unknown as Members;

/** A history's random numbers, from 0 to 1. */
export type Random = () => number;

interface Stored {
  readonly row: EmergencyRow;
  state: EmergencyState;
}

export type World = ReturnType<typeof createWorld>;

export function createWorld(count: number, random: Random) {
  let nowMs = 1000;
  let order = 0;
  const timers: { atMs: number; order: number; act: () => void }[] = [];
  const after = (ms: number, act: () => void) => {
    timers.push({ atMs: nowMs + ms, order: order++, act });
  };
  const wayMs = () => 1 + (random() < slow ? 800 : 20) * random();
  const stored = new Map<string, Stored>();
  let loss = 0;
  let slow = 0;

  /** Lets virtual time pass, and whatever promises do in it. */
  async function pass(ms: number): Promise<void> {
    const endMs = nowMs + ms;
    for (;;) {
      timers.sort((one, other) => one.atMs - other.atMs || one.order - other.order);
      const next = timers[0];
      if (next === undefined || next.atMs > endMs) break;
      timers.shift();
      nowMs = next.atMs;
      next.act();
      for (let turn = 0; turn < 12; turn++) await null;
    }
    nowMs = endMs;
  }

  function newRelay(number: number) {
    const talkgroup = new Talkgroup(talkgroupRow({ id: TALKGROUP }));
    const announced: { id: string; state: string }[] = [];
    let isAlive = true;
    let hasDatabase = true;
    let isReading = false;
    let isTouched = false;

    /** A change notification: a read that began before does not count. */
    function noticed(_notice: Notice): void {
      if (isReading) isTouched = true;
      else read();
    }

    function read(): void {
      isReading = true;
      isTouched = false;
      const began = hasDatabase;
      const rows = [...stored.values()].flatMap(({ row, state }) =>
        state === 'cleared' ? [] : [{ ...row, state }],
      );
      after(2 + 30 * random(), () => {
        isReading = false;
        if (!isAlive) return;
        if (!began || !hasDatabase || isTouched) return after(20, () => isReading || read());
        emergencies.follow(talkgroup, rows);
      });
    }

    /** One statement: done or not done when the database goes away meanwhile, and the answer may be lost. */
    const write = (act: () => void): Promise<null> =>
      new Promise((resolve, reject) => {
        after(1 + 10 * random(), () => {
          if (!isAlive) return;
          if (!hasDatabase) return reject(new AppError('not_ready'));
          act();
          for (const relay of relays) relay.notify();
          if (random() < 0.1) reject(new AppError('not_ready'));
          else resolve(null);
        });
      });

    const emergencies = createEmergencies({
      writes: {
        raise: (_talkgroup, row) =>
          write(() => {
            if (!stored.has(row.id)) stored.set(row.id, { row, state: 'raised' });
          }),
        acknowledge: (id) =>
          write(() => {
            const one = stored.get(id);
            if (one?.state === 'raised') one.state = 'acknowledged';
          }),
        clear: (id) =>
          write(() => {
            const one = stored.get(id);
            if (one !== undefined) one.state = 'cleared';
          }).then(() => noticeOf({ kind: 'emergency_changed', talkgroup: TALKGROUP })),
      },
      talkgroups: new Map([[talkgroup.id, talkgroup]]),
      fanout: {
        event(_feed, make) {
          const { emergency_id: id, state } = JSON.parse(make(0));
          announced.push({ id, state });
        },
      },
      floor: { followEmergency() {} },
      noticed,
      tell: (_talkgroup, told) => stream.tellEmergency(told),
      clock: {
        ...clockAt(() => nowMs),
        after(ms, run) {
          after(ms, run);
          return NO_TIMER;
        },
      },
      log: {
        info() {},
        error(_fields, message) {
          throw new Error(message);
        },
      },
    });

    const up = new Set<number>();
    const arrivedAtMs = new Map<string, number>();

    /** In order on one way, or not at all. `isHeard` says whether the other still takes it. */
    function send(to: number, way: string, act: (other: Relay) => void): void {
      const other = relays[to];
      if (other === undefined || !isAlive || isCut(number, to) || random() < loss) return;
      const key = `${to} ${way}`;
      const atMs = Math.max(nowMs + wayMs(), arrivedAtMs.get(key) ?? 0);
      arrivedAtMs.set(key, atMs);
      after(atMs - nowMs, () => {
        if (other.isAlive() && !isCut(number, to) && other.up.has(number)) act(other);
      });
    }

    const stream: Stream = new Stream(
      {
        relay: number,
        bus: {
          publish(_subject, head, body) {
            const bytes = Buffer.concat([head, body instanceof Uint8Array ? body : new Uint8Array(body)]);
            for (const { number: to } of relays)
              if (to !== number) send(to, 'talkgroup', (other) => other.receive(bytes));
            return true;
          },
        },
        writer: new HeaderWriter(number, 1),
        isDraining: () => false,
        emergencies: emergencies.elsewhere,
        fanout: { onlineHere: () => 1 },
        presence: { isWatched: () => false, watchedElsewhere() {} },
        members: noMembers,
        remote: noBursts,
        floors: createSharedAuthority({
          counts: newFloorCounts(),
          limits: { talkersMax: 32, talksPerUser: 2 },
          bursts: noBursts.bursts,
          onVerdicts() {},
          link: linkAlone,
        }),
        turns: noTurns,
        movesOf: () => undefined,
        settled() {},
        isNear: () => false,
        counts: newClusterCounts(),
        clock: clockAt(() => nowMs),
        ask: (to) => ask(to),
      },
      talkgroup,
      0,
    );

    function ask(to: number): void {
      if (!up.has(to)) return;
      const { held } = stream;
      send(to, 'relay', (other) => {
        other.stream.asked(number, held);
        const body = bodyOfPiece([JSON.stringify(other.stream.here)], []);
        const [entry] = readBody('here', body)?.talkgroups ?? [];
        if (entry === undefined) throw new Error(`not to be read: ${body}`);
        other.send(number, 'relay', () => stream.answered(other.number, entry, nowMs));
      });
    }

    const tick = () => {
      if (!isAlive) return;
      stream.watch(nowMs);
      after(TICK_MS, tick);
    };
    after(TICK_MS * random(), tick);

    const members = new Map<UserId, Membership>();
    const memberOf = (user: UserId) => {
      const member = members.get(user) ?? new Membership(new User(accountRow(user)), talkgroup, 'depot');
      members.set(user, member);
      return member;
    };

    return {
      number,
      talkgroup,
      announced,
      stream,
      up,
      send,
      ask,
      isAlive: () => isAlive,
      receive(bytes: Uint8Array): void {
        const header = newHeader();
        if (readHeader(bytes, header)) stream.receive(header, bytes, 0, nowMs);
      },
      /** The notification of the database. */
      notify(): void {
        after(1 + 20 * random(), () => {
          if (isAlive && hasDatabase) noticed(noticeOf({ kind: 'emergency_changed', talkgroup: TALKGROUP }));
        });
      },
      database(isThere: boolean): void {
        hasDatabase = isThere;
        if (isThere && isAlive) noticed(noticeOf({ kind: 'emergency_changed', talkgroup: TALKGROUP })); // the gap
      },
      raise(user: UserId = randomUUID() as UserId): string {
        const raised = emergencies.raise(memberOf(user), {});
        return raised.kind === 'open' ? raised.id : raised.kind;
      },
      acknowledge: (id: string) => emergencies.acknowledge(id, randomUUID() as UserId),
      clear: (id: string) => emergencies.clear(id, { id: randomUUID() as UserId, mayDispatch: true }),
      open: () => new Map([...talkgroup.emergencies.values()].map(({ id, state }) => [id, state])),
      crash(): void {
        isAlive = false;
      },
    };
  }

  type Relay = ReturnType<typeof newRelay>;
  const cuts = new Set<string>();
  const wayOf = (one: number, other: number) => [one, other].sort().join(' ');
  const isCut = (one: number, other: number) => cuts.has(wayOf(one, other));
  const relays: Relay[] = Array.from({ length: count }, (_, number) => newRelay(number));

  /** What beacons would show. */
  function judge(one: Relay, other: Relay): void {
    const isReached = one.isAlive() && other.isAlive() && !isCut(one.number, other.number);
    for (const [own, { number }] of [
      [one, other],
      [other, one],
    ] as const) {
      if (isReached && !own.up.has(number)) {
        own.up.add(number);
        own.ask(number);
      } else if (!isReached && own.up.delete(number) && own.isAlive()) own.stream.drop(number);
    }
  }
  const judgeAll = () => {
    for (const [index, one] of relays.entries())
      for (const other of relays.slice(index + 1)) judge(one, other);
  };
  judgeAll();

  return {
    relays,
    stored,
    pass,
    lose(share: number): void {
      loss = share;
    },
    /** Of the messages from now on, this share may take 800 ms. */
    delay(share: number): void {
      slow = share;
    },
    cut(one: number, other: number): void {
      cuts.add(wayOf(one, other));
      after(DOWN_MS, judgeAll);
    },
    crash(number: number): void {
      relays[number]?.crash();
      after(DOWN_MS, judgeAll);
    },
    /** By REST: the database alone. false: it is not stored. */
    clearStored(id: string): boolean {
      const one = stored.get(id);
      if (one === undefined || one.state === 'cleared') return false;
      one.state = 'cleared';
      for (const relay of relays) relay.notify();
      return true;
    },
    heal(): void {
      cuts.clear();
      loss = 0;
      slow = 0;
      for (const relay of relays) relay.database(true);
      judgeAll();
    },
  };
}
