// Radios that report positions of a talkgroup's devices at a steady rate, and sessions that watch them, one of which may
// be behind a narrow link and hear a talker.

import { encodeFrame } from '../../../src/protocol/frame.js';
import { narrowLink } from '../../../test/helpers/network/narrow-link.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { countOf, onSchedule, type Schedule } from '../../machine/schedule.js';
import type { Member, Talkgroup } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { type Busy, fail, type Performance, perform } from '../player.js';

export interface WatchingSetup {
  /** Radios are dealt out over these. */
  readonly servers: readonly Target[];
  readonly talkgroup: Talkgroup;
  readonly reporters: readonly Member[];
  readonly watchers: readonly Member[];
  /** Of all devices, also those of the reporters. */
  readonly deviceIds: readonly string[];
  readonly intervalMs: number;
  /** The first watcher is behind a link of this many bytes a second, and a reporter talks. null: neither. */
  readonly bytesPerSecond: number | null;
}

export interface WatchingPiece extends Schedule {
  readonly isWatching: boolean;
}

export interface WatchingPlayed extends Busy {
  readonly fixes: number;
  /** Of each position seen, from when it was due to when a watcher had it. */
  readonly latency: Latency;
  readonly late: Latency;
  /** Answers other than OK, by their code, and positions that no watcher saw: a later one of the device came first. */
  readonly failures: Readonly<Record<string, number>>;
  readonly unseen: number;
  readonly rows: number;
  /** From WATCH to the last part of the list, of the slowest watcher. */
  readonly listedMs: number;
  readonly listed: number;
  /** LAG that watchers got, and frames of speech that they heard. */
  readonly lags: number;
  readonly frames: number;
}

const ANSWER_MS_MAX = 6_000;
const LISTED_MS_MAX = 60_000;
const FRAME_MS = 20;
const PAYLOAD = new Uint8Array(60);
const START = 0x08;

perform<WatchingSetup, WatchingPiece, WatchingPlayed, null>(prepare);

async function prepare(setup: WatchingSetup): Promise<Performance<WatchingPiece, WatchingPlayed, null>> {
  const { servers, talkgroup, intervalMs, deviceIds, bytesPerSecond } = setup;
  const [first] = servers;
  if (first === undefined) throw new RangeError('there is no server');
  const serverOf = (index: number): Target => servers[index % servers.length] ?? first;
  /** When the position with this number was due. */
  const dueMs: number[] = [];
  const seen = new Set<number>();
  let record = newRecord();
  let lastRef = 0;
  let unanswered = 0;

  const reporters = await joinAll(
    setup.reporters,
    (token, index) =>
      new RawRadio({
        ...{ target: serverOf(index), token, receive: () => {}, lost: fail },
        told({ type, code }) {
          if (type === 'OK' || type === 'ERROR') unanswered--;
          if (type === 'ERROR') record.failures[`${code}`] = (record.failures[`${code}`] ?? 0) + 1;
        },
      }),
  );
  // They would hear the talker, which is the first one.
  for (const radio of reporters.slice(1)) {
    unanswered++;
    radio.say({ type: 'UNSUBSCRIBE', talkgroup_ids: [talkgroup.id], ref: ++lastRef });
  }
  const slow = bytesPerSecond === null ? null : await slowLink(first, bytesPerSecond);
  const lists = setup.watchers.map(() => ({ sinceMs: 0, listedMs: 0, listed: 0 }));
  const watchers = await joinAll(
    setup.watchers,
    (token, index) =>
      new RawRadio({
        target: index === 0 && slow !== null ? slow : serverOf(index + 1),
        ...{ token, lost: fail },
        receive: () => {
          record.frames++;
        },
        told: (said) => told(said, index),
      }),
  );

  function told(said: Said, index: number): void {
    if (said.type === 'LAG') record.lags++;
    else if (said.type === 'ERROR') throw new Error(`a watcher was refused: ${JSON.stringify(said)}`);
    else if (said.type === 'POSITIONS') for (const row of said.fixes as number[][]) moved(row);
    else if (said.type === 'WATCHING') {
      const list = lists[index];
      if (list === undefined) return;
      list.listed += (said.devices as unknown[]).length;
      if (said.part === said.parts) list.listedMs = nowMs() - list.sinceMs;
    }
  }

  function moved([, lat = 0]: readonly number[]): void {
    const number = numberAt(lat);
    const due = dueMs[number];
    if (due === undefined) return;
    record.rows++;
    seen.add(number);
    record.latency.record(nowMs() - due);
  }

  async function watch(): Promise<void> {
    for (const [index, radio] of watchers.entries()) {
      lists[index] = { sinceMs: nowMs(), listedMs: 0, listed: 0 };
      radio.say({ type: 'WATCH', talkgroup_ids: [talkgroup.id], interval_ms: intervalMs, ref: ++lastRef });
    }
    await until(() => lists.every(({ listedMs }) => listedMs > 0), LISTED_MS_MAX);
  }

  let isWatched = false;
  /** What they watch stays from piece to piece. */
  async function turn(isWanted: boolean): Promise<void> {
    if (isWanted === isWatched) return;
    isWatched = isWanted;
    if (isWanted) return watch();
    for (const radio of watchers) radio.say({ type: 'UNWATCH', ref: ++lastRef });
  }

  let isTalking = slow !== null;
  const talk = slow === null ? null : speak();
  async function speak(): Promise<void> {
    const [talker] = reporters;
    let sequence = 0;
    for (let atMs = nowMs(); isTalking; atMs += FRAME_MS) {
      await around(atMs);
      const flags = sequence === 0 ? START : 0;
      talker?.send(
        encodeFrame({ flags, sequence: sequence++ % 65_536, talkgroup: talkgroup.number, payload: PAYLOAD }),
      );
    }
  }

  return {
    async play({ isWatching, ...schedule }) {
      const now = newRecord();
      record = now;
      const begin = dueMs.length;
      await turn(isWatching);
      const piece = { ...schedule, fromMs: Math.max(schedule.fromMs, nowMs()) };
      const usage = readUsage([]);
      await onSchedule(piece, (due, lateMs) => {
        now.late.record(lateMs);
        const number = dueMs.push(due) - 1;
        const device_id = deviceIds[number % deviceIds.length];
        unanswered++;
        const fix = { device_id, lat: latOf(number), lng: 13.4, alt: 0 };
        reporters[number % reporters.length]?.say({ type: 'GPS_UPDATE', ...fix, ref: ++lastRef });
      });
      const { generatorShare } = sharesOf(spent(usage, readUsage([])));
      await until(() => unanswered === 0, ANSWER_MS_MAX);
      await around(nowMs() + 2 * intervalMs); // the last ones are seen, and both kinds of pieces last as long
      const fixes = countOf(piece);
      let unseen = 0;
      if (isWatching) for (let n = begin; n < begin + fixes; n++) if (!seen.has(n)) unseen++;
      return {
        ...{ fixes, unseen, rows: now.rows, lags: now.lags, frames: now.frames, failures: now.failures },
        ...{ latency: now.latency.latency(), late: now.late.latency(), generatorShare },
        listedMs: Math.max(0, ...lists.map(({ listedMs }) => listedMs)),
        listed: Math.min(...lists.map(({ listed }) => listed)),
      };
    },
    async end() {
      isTalking = false;
      await talk;
      return null;
    },
  };
}

function newRecord() {
  return {
    latency: createRecorder(),
    late: createRecorder(),
    failures: {} as Record<string, number>,
    rows: 0,
    lags: 0,
    frames: 0,
  };
}

/** The latitude is the number of the position: the relay sends six digits. */
const latOf = (number: number) => Math.round(number + 1) / 1e6;
const numberAt = (lat: number) => Math.round(lat * 1e6) - 1;

/** It lasts as long as the process. */
async function slowLink({ url, dialect }: Target, bytesPerSecond: number): Promise<Target> {
  const address = new URL(url);
  const link = await narrowLink({ teardown: () => {} }, Number(address.port));
  link.narrow(bytesPerSecond);
  address.port = `${link.port}`;
  address.hostname = '127.0.0.1';
  return { url: `${address}`, dialect };
}
