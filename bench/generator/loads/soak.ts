// A long day of a fleet, shortened: radios that listen, some that talk in turns, some that leave and come back.
import { readdirSync } from 'node:fs';
import { END, SEQUENCE_AT, START } from '../../../src/protocol/frame.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { residentBytes } from '../../machine/processes.js';
import { onSchedule } from '../../machine/schedule.js';
import { arrive } from '../../radios/arrivals.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Target } from '../../radios/raw-radio.js';
import { COUNTED, timedFrame } from '../../radios/timed-frame.js';
import { type Busy, fail, type Performance, perform } from '../player.js';

export interface Load {
  /** In each talkgroup. The first half of them stays and talks in turns, the others leave and come back in turns. */
  readonly members: number;
  /** Talkgroups in which a radio talks at any time. */
  readonly voices: number;
  readonly burstFrames: number;
  readonly framesPerSecond: number;
  readonly payloadBytes: number;
  readonly leavesPerSecond: number;
  readonly absentMs: number;
}

export interface SoakSetup {
  readonly server: Target & { readonly pid: number };
  /** The members of the first talkgroup, of the second, and so on. */
  readonly users: readonly Member[];
  readonly load: Load;
}

export interface SoakPiece {
  readonly ms: number;
  readonly sampleMs: number;
}

export interface Sample {
  /** Since the piece began. */
  readonly atMs: number;
  readonly residentBytes: number;
  /** All that the server holds open, less the radios that are connected. */
  readonly otherDescriptors: number;
}

export interface SoakPlayed extends Busy {
  readonly samples: readonly Sample[];
  readonly framesSent: number;
  /** To who stayed, over all frames and listeners. */
  readonly deliveries: number;
  /** Of these, and of what others should have heard from the first frame on that they heard. */
  readonly lost: number;
  /** Heard again, or behind a later one. */
  readonly repeated: number;
  /** Returns with a resume token, of them those whose session went on, and returns without. */
  readonly resuming: number;
  readonly resumed: number;
  readonly anew: number;
}

const ARRIVALS_PER_SECOND = 500;
/** Between two bursts of a voice. */
const PAUSE_MS = 1_000;
const ARRIVAL_MS_MAX = 5_000;

perform<SoakSetup, SoakPiece, SoakPlayed, null>(prepare);

async function prepare(setup: SoakSetup): Promise<Performance<SoakPiece, SoakPlayed, null>> {
  const { server, users, load } = setup;
  const tally: Tally = { skipped: 0, repeated: 0, connected: 0 };
  const places = await arrive({
    users,
    firstIndex: 0,
    perSecond: ARRIVALS_PER_SECOND,
    connect: (user, localAddress) => new Place({ server, user, localAddress, tally }),
  });
  const stays = (_: Place, index: number) => index % load.members < load.members / 2;
  const staying = places.filter(stays);
  const leaving = places.filter((place, index) => !stays(place, index));
  return {
    async play({ ms, sampleMs }) {
      const fromMs = nowMs();
      const before = readUsage([]);
      const heardBefore = heardBy(staying);
      const [samples, spoken, returns] = await Promise.all([
        sample({ pid: server.pid, tally, fromMs, ms, sampleMs }),
        talk({ staying, load, endMs: fromMs + ms }),
        churn({ leaving, load, fromMs, ms }),
      ]);
      const { frames, deliveries } = spoken;
      const lost = () => deliveries - (heardBy(staying) - heardBefore);
      await until(() => lost() <= 0, ARRIVAL_MS_MAX);
      return {
        samples,
        ...returns,
        framesSent: frames,
        deliveries,
        lost: Math.max(tally.skipped, lost()),
        repeated: tally.repeated,
        generatorShare: sharesOf(spent(before, readUsage([]))).generatorShare,
      };
    },
    end: async () => null,
  };
}

const heardBy = (places: readonly Place[]) => places.reduce((sum, { heard }) => sum + heard, 0);

/** Of all radios. */
interface Tally {
  /** By their numbers, frames left out of a burst that went on. */
  skipped: number;
  repeated: number;
  connected: number;
}

interface PlaceOptions {
  readonly server: Target;
  readonly user: Member;
  readonly localAddress: string;
  readonly tally: Tally;
}

/** A user's place in the fleet, whether the radio is on or not. */
class Place {
  /** Frames. */
  heard = 0;
  private readonly options: PlaceOptions;
  private radio: RawRadio;
  private resumeToken = '';
  /** Number of the next frame of the burst. null: it has just come in, perhaps in the middle of one. */
  private next: number | null = null;

  constructor(options: PlaceOptions) {
    this.options = options;
    this.radio = this.connect(options.user.token, () => {});
  }

  get joined(): Promise<void> {
    return this.radio.joined;
  }

  get talkgroup(): number {
    return this.options.user.talkgroups[0]?.number ?? 0;
  }

  speak(frame: Uint8Array): void {
    this.radio.send(frame);
  }

  /** Out of reach, and to be resumed, or switched off. */
  leave(isResuming: boolean): void {
    this.options.tally.connected--;
    if (isResuming) this.radio.drop();
    else this.radio.leave();
  }

  /** `welcomed` is told whether the session goes on. */
  comeBack(isResuming: boolean, welcomed: (isResumed: boolean) => void): void {
    const { token } = this.options.user;
    this.next = null;
    // What is written behind the token stands behind it in the query.
    this.radio = this.connect(isResuming ? `${token}&resume=${this.resumeToken}` : token, welcomed);
  }

  private connect(token: string, welcomed: (isResumed: boolean) => void): RawRadio {
    const { server, localAddress, tally } = this.options;
    return new RawRadio({
      target: server,
      token,
      localAddress,
      lost: fail,
      receive: (bytes, start) => this.hear(bytes, start),
      told: ({ type, resume_token, resumed }) => {
        if (type !== 'WELCOME') return;
        tally.connected++;
        this.resumeToken = String(resume_token);
        welcomed(resumed === true);
      },
    });
  }

  private hear(bytes: Buffer, start: number): void {
    const { tally } = this.options;
    const flags = bytes[start] ?? 0;
    const sequence = bytes.readUInt16BE(start + SEQUENCE_AT);
    const expected = (flags & START) !== 0 ? 0 : (this.next ?? sequence);
    this.heard++;
    if (sequence > expected) tally.skipped += sequence - expected;
    if (sequence < expected) tally.repeated++;
    this.next = sequence + 1;
  }
}

interface Sampling {
  readonly pid: number;
  readonly tally: Tally;
  readonly fromMs: number;
  readonly ms: number;
  readonly sampleMs: number;
}

async function sample({ pid, tally, fromMs, ms, sampleMs }: Sampling): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (let atMs = sampleMs; atMs <= ms; atMs += sampleMs) {
    await around(fromMs + atMs);
    samples.push({
      atMs,
      residentBytes: residentBytes(pid).all,
      otherDescriptors: readdirSync(`/proc/${pid}/fd`).length - tally.connected,
    });
  }
  return samples;
}

interface Talking {
  /** Of all talkgroups, in their order. */
  readonly staying: readonly Place[];
  readonly load: Load;
  readonly endMs: number;
}

/** Voices that go from talkgroup to talkgroup, each with a burst in its turn. */
async function talk({ staying, load, endMs }: Talking) {
  const each = load.members / 2;
  const talkgroups = staying.length / each;
  const frameMs = 1000 / load.framesPerSecond;
  let frames = 0;

  async function speak(voice: number): Promise<void> {
    const burstMs = load.burstFrames * frameMs + PAUSE_MS;
    for (let burst = 0, startMs = nowMs(); startMs + burstMs <= endMs; burst++, startMs += burstMs) {
      const turn = burst * load.voices + voice;
      const talker = staying[(turn % talkgroups) * each + (Math.floor(turn / talkgroups) % each)];
      for (let sequence = 0; sequence < load.burstFrames; sequence++) {
        const dueMs = startMs + sequence * frameMs;
        await around(dueMs);
        const isLast = sequence === load.burstFrames - 1;
        talker?.speak(
          timedFrame({
            talkgroup: talker.talkgroup,
            flags: (sequence === 0 ? START : 0) | (isLast ? END : 0),
            sequence,
            payloadBytes: load.payloadBytes,
            dueMs: COUNTED,
          }),
        );
        frames++;
      }
      await around(startMs + burstMs);
    }
  }

  await Promise.all(Array.from({ length: load.voices }, (_, voice) => speak(voice)));
  return { frames, deliveries: frames * (each - 1) };
}

interface Churning {
  readonly leaving: readonly Place[];
  readonly load: Load;
  readonly fromMs: number;
  readonly ms: number;
}

/** One after the other leaves and comes back, in turn to be resumed and anew. All are back at the end. */
async function churn({ leaving, load, fromMs, ms }: Churning) {
  const returns = { resuming: 0, resumed: 0, anew: 0 };
  const { absentMs, leavesPerSecond } = load;
  let index = 0;
  await onSchedule({ fromMs, ms: ms - absentMs - ARRIVAL_MS_MAX, perSecond: leavesPerSecond }, () => {
    const isResuming = index % 2 === 0;
    const place = leaving[index++ % leaving.length];
    place?.leave(isResuming);
    setTimeout(() => {
      place?.comeBack(isResuming, (isResumed) => {
        if (isResumed) returns.resumed++;
        if (isResuming) returns.resuming++;
        else returns.anew++;
      });
    }, absentMs);
  });
  await around(fromMs + ms);
  return returns;
}
