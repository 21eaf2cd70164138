// Relays that share a bus, without uWebSockets.js and without a database, and the radios on them.
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import type { Account, EmergencyRow, TalkgroupRow } from '../../../src/directory/records.js';
import { AppError } from '../../../src/errors.js';
import type { TalkgroupId, UserId } from '../../../src/ids.js';
import { decodeFrames } from '../../../src/protocol/bundle.js';
import type { EmergencyState, FloorMode } from '../../../src/protocol/codes.js';
import { END, encodeFrame, START } from '../../../src/protocol/frame.js';
import type { Peer, Publisher } from '../../../src/relay/delivery/peer.js';
import type { EmergencyWrites } from '../../../src/relay/emergencies/emergencies.js';
import { eventually } from '../eventually.js';
import { createMemoryNetwork } from './memory-bus.js';
import { NOWHERE, relayAlone, seated } from './relay-alone.js';
import { accountRow, talkgroupRow } from './rows.js';

type Json = Record<string, unknown>;
type Heard = Json | { readonly frame: string; readonly sender: number; readonly burst: number };

const uuid = (kind: number, number: number) =>
  `${String(kind).padStart(8, '0')}-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** The user of the radio that came as number `index`, from 0, on the relay with this number. */
export const userIdOf = (relay: number, index: number) => uuid(2, 1000 * relay + index) as UserId;

export const talkgroupIdOf = (number: number) => uuid(1, number) as TalkgroupId;

/** The talkgroups as the database shows them: all relays read the same. */
export function directory(floorMode: FloorMode = 'open', role: Account['role'] = 'user') {
  let mode = floorMode;
  let maxTalkMs = 0;
  let revision = 0;
  /** Numbers of the talkgroups. */
  let existing = [1, 2];
  /** In talkgroup 1, the cleared ones, too. */
  const emergencies = new Map<string, { row: EmergencyRow; state: EmergencyState }>();
  const row = (number: number) =>
    talkgroupRow({
      ...{ id: talkgroupIdOf(number), number, name: `${number}` },
      ...{ floor_mode: mode, max_talk_ms: maxTalkMs, revision },
      emergencies: [...emergencies.values()].flatMap(({ row, state }) =>
        state === 'cleared' || number !== 1 ? [] : [{ ...row, state }],
      ),
    });
  /** The statements of a relay. They fail while `isAway` says so. */
  function writesOf(isAway: () => boolean): EmergencyWrites {
    const write = async (act: () => void) => {
      if (isAway()) throw new AppError('not_ready');
      act();
      return null;
    };
    const change = (id: string, state: EmergencyState) => () => {
      const one = emergencies.get(id);
      if (one !== undefined && one.state !== 'cleared') one.state = state;
    };
    return {
      raise: (_talkgroup, row) =>
        write(() => {
          if (!emergencies.has(row.id)) emergencies.set(row.id, { row, state: 'raised' });
        }),
      acknowledge: (id) => write(change(id, 'acknowledged')),
      clear: async (id) => (await write(change(id, 'cleared'))) ?? 'unknown',
    };
  }
  return {
    emergencies,
    writesOf,
    setMode(next: FloorMode): void {
      mode = next;
      revision++;
    },
    setMaxTalkMs(next: number): void {
      maxTalkMs = next;
      revision++;
    },
    /** Another server has taken over that lacks the last change. */
    loseChange(before: FloorMode): void {
      mode = before;
      revision--;
    },
    delete(number: number): void {
      existing = existing.filter((one) => one !== number);
    },
    accountsOf: async (ids: readonly UserId[]): Promise<Account[]> =>
      ids.map((id) => accountRow(id, { username: id.slice(-3), role, memberships: existing.map(row) })),
    talkgroupsOf: async (ids: readonly TalkgroupId[]): Promise<TalkgroupRow[]> =>
      existing.map(row).filter(({ id }) => ids.includes(id)),
  };
}

/** Tag of the database that relays have. */
export const DATABASE = 1;

/** Relay `number` on the network. Its sessions have numbers from 1,000 times that. */
export function relayOn(
  t: Test,
  network: ReturnType<typeof createMemoryNetwork>,
  {
    number,
    reads = directory(),
    limits = {},
    database = DATABASE,
    keys = [],
    node = null,
    lastSeq = 0,
    failed = (message) => t.fail(message),
    logged,
  }: {
    number: number;
    reads?: ReturnType<typeof directory>;
    limits?: NonNullable<Parameters<typeof relayAlone>[1]['limits']>;
    /** Its tag. */
    database?: number;
    /** Tags of the keys that it accepts. */
    keys?: readonly number[];
    /** Of its relay threads. */
    node?: number | null;
    /** The numbers of its messages about talkgroups follow this one. */
    lastSeq?: number;
    /** An error was logged. */
    failed?: (message: string) => void;
    /** Another line was logged. */
    logged?: (message: string, fields: object) => void;
  },
) {
  const topics = new Map<string, Set<Peer>>();
  const at = (topic: string) => topics.get(topic) ?? new Set<Peer>();
  const publisher: Publisher = {
    publish(topic, message, isBinary) {
      const bytes = typeof message === 'string' ? Buffer.from(message) : message;
      for (const peer of at(topic)) peer.send(bytes, isBinary);
      return at(topic).size > 0;
    },
    numSubscribers: (topic) => at(topic).size,
  };
  let sessions = 1000 * number;
  let users = 0;
  const store = { isAway: false };
  const relay = relayAlone(
    { fail: failed },
    {
      reads,
      takeNumber: () => sessions++,
      publisher,
      limits,
      emergencyWrites: reads.writesOf(() => store.isAway),
      ...(logged && { logged }),
    },
  );
  const bus = network.join();
  relay.join({ relay: number, database, bus, node, keys, lastSeq });
  const close = async () => {
    await relay.close();
    await relay.left();
  };
  t.teardown(close);

  /**
   * A radio that is a member of the talkgroups 1 and 2: of a user of its own or of this one, with the token of a session
   * to resume.
   */
  async function radio(
    user = uuid(2, 1000 * number + users++) as UserId,
    { resume = null, iat = 0 }: { resume?: string | null; iat?: number } = {},
  ) {
    const closes: [code: number, reason: string][] = [];
    const messages: Json[] = [];
    const arrivals: Heard[] = [];
    const sizes: number[] = [];
    /** Pings that it has not answered. null: it answers each at once. */
    let unanswered: string[] | null = null;
    let answered = 0;
    const answer = (text: string) => {
      answered++;
      session.ponged(new Uint8Array(Buffer.from(text)).buffer);
    };
    const peer: Peer = {
      send(message, isBinary) {
        const bytes = new Uint8Array(message);
        if (isBinary) {
          const frames = decodeFrames(bytes, Number.MAX_SAFE_INTEGER);
          if (typeof frames === 'string') throw new Error(`a bad frame: ${frames}`);
          sizes.push(frames.length);
          for (const { sender, burst, payload } of frames)
            arrivals.push({ frame: Buffer.from(payload).toString(), sender, burst });
        } else {
          messages.push(JSON.parse(Buffer.from(bytes).toString()));
          arrivals.push(messages.at(-1) ?? {});
        }
        return 1;
      },
      publish(topic, message, isBinary) {
        for (const other of at(topic)) if (other !== peer) other.send(message, isBinary);
        return true;
      },
      subscribe(topic) {
        const isNew = !at(topic).has(peer);
        topics.set(topic, at(topic).add(peer));
        return isNew;
      },
      unsubscribe: (topic) => at(topic).delete(peer),
      ping(text) {
        if (unanswered === null) setImmediate(answer, text);
        else unanswered.push(text);
        return 1;
      },
      getUserData: () => ({ session: null }),
      end(code, reason) {
        closes.push([code, reason]);
        leave();
      },
    };
    const leave = () => {
      for (const members of topics.values()) members.delete(peer);
    };
    const session = await seated(relay, { sub: user, iat }, peer, resume);
    let sequence = 0;
    return {
      user,
      session,
      /** Of its socket, by the relay. */
      closes,
      /** The token of its WELCOME. */
      token: String(messages.find(({ type }) => type === 'WELCOME')?.resume_token),
      messages,
      arrivals,
      /** Number of frames in each message with audio. */
      sizes,
      answered: () => answered,
      /** Answers no ping from now on, as a socket that is not read. */
      stalls(): void {
        unanswered = [];
      },
      unanswered: () => unanswered?.length ?? 0,
      /** Answers what it has not answered, and each from now on. */
      reads(): void {
        const late = unanswered ?? [];
        unanswered = null;
        for (const text of late) setImmediate(answer, text);
      },
      /** What came of these types, taken out. Frames are 'frame'. */
      heard(...types: string[]): Heard[] {
        const is = (one: Heard) => types.includes('frame' in one ? 'frame' : String(one.type));
        const found = arrivals.filter(is);
        arrivals.splice(0, arrivals.length, ...arrivals.filter((one) => !is(one)));
        return found;
      },
      frames: () => arrivals.flatMap((one) => ('frame' in one ? [one.frame] : [])),
      hears: (type: string) =>
        eventually(() => {
          const found = messages.findIndex((message) => message.type === type);
          const [message] = found < 0 ? [] : messages.splice(found, 1);
          if (message === undefined) throw new Error(`never came: ${type}`);
          return message;
        }),
      says: (message: Json) =>
        session.receiveText(new Uint8Array(Buffer.from(JSON.stringify(message))).buffer),
      speaks(
        text: string,
        {
          talkgroup = 1,
          start = false,
          end = false,
          sequence: next,
        }: { talkgroup?: number; start?: boolean; end?: boolean; sequence?: number } = {},
      ): boolean {
        if (start) sequence = 0;
        sequence = next ?? sequence;
        const flags = (start ? START : 0) | (end ? END : 0);
        const frame = encodeFrame({ sequence: sequence++, talkgroup, payload: Buffer.from(text), flags });
        return session.receiveAudio(frame.buffer);
      },
      /** Its socket dies. */
      breaks(): void {
        leave();
        session.closed(1006);
      },
    };
  }

  /** Resolves when a handshake of a user without another session is answered, and its socket is gone by then. */
  const abandoned = () =>
    new Promise<void>((resolve) => {
      relay.admit({ claims: { sub: userIdOf(number, users++), iat: 0 }, resume: null, from: NOWHERE }, () =>
        resolve(),
      );
    });

  return {
    ...{ relay, bus, radio, abandoned, close, database: store },
    figures: () => relay.figures().cluster,
    users: () => relay.figures().present.users,
  };
}

export type RelayOn = ReturnType<typeof relayOn>;
export type Radio = Awaited<ReturnType<RelayOn['radio']>>;

/** Resolves when each of them reaches so many others. */
export const reaching = (peers: number, ...relays: readonly RelayOn[]) =>
  eventually(() => {
    for (const { figures } of relays)
      if (figures()?.peers !== peers) throw new Error(`reaches ${figures()?.peers}, not ${peers}`);
  });

/** Resolves when each of them reaches all others. */
export const reached = (...relays: readonly RelayOn[]) => reaching(relays.length - 1, ...relays);

type Three<T> = [T, T, T];

/** Up to three relays that reach each other, with one radio each. */
export async function relaysWithRadios(
  t: Test,
  count: number,
  reads = directory(),
  limits: Parameters<typeof relayOn>[2]['limits'] = {},
) {
  const network = createMemoryNetwork();
  const all = Array.from({ length: count }, (_, index) =>
    relayOn(t, network, { number: index + 1, reads, limits }),
  );
  await reached(...all);
  const radios = await Promise.all(all.map(({ radio }) => radio()));
  await sharing(2, ...all);
  return { network, all: all as Three<RelayOn>, radios: radios as Three<Radio> };
}

/** Resolves when each of them knows that the others have receivers of so many talkgroups. */
export const sharing = (talkgroups: number, ...relays: readonly RelayOn[]) =>
  eventually(() => {
    for (const { figures } of relays) if (figures()?.shared !== talkgroups) throw new Error('not shared');
  });

/** Everything said before has arrived: a message takes two turns of the loop, however long they are. */
export async function settled(): Promise<void> {
  await delay(30);
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
}
