// Puts a worker of the test in the place of the console's radio, so that a test says what the relay says.
import type { Page } from 'playwright-core';
import type {
  Changes,
  Event,
  TalkerView,
  TalkgroupView,
  TalkView,
} from '../../../src/console/worker/messages.js';
import { eventually } from '../eventually.js';

const CHANNEL = 'radio of the test';
const TALKGROUP = '7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f58';

/** Runs in the worker: passes on what the test tells, and keeps what the page asks. */
const WORKER = `
const channel = new BroadcastChannel(${JSON.stringify(CHANNEL)});
const connection = (opened) => ({
  state: 'open', close: opened === 1 ? null : { code: 1006, reason: '' }, retryAtMs: null,
  resumed: opened === 1 ? null : false, isDraining: false, reach: 'whole', clockOffsetMs: 0, opened,
});
const nothing = { kind: 'changes', talkgroups: [], left: [], emergencies: [], talks: [], recent: [] };
const talkgroup = {
  id: ${JSON.stringify(TALKGROUP)}, number: 1, name: 'Fire 1', floorMode: 'open', maxTalkMs: 0, recordingDays: 0, online: 1,
  talkers: [], last: null, missed: 0, lostBetweenNodes: 0,
  encryption: 'allowed', isLockExpected: false, mayHaveKeys: true, emergenciesTotal: 0,
};
let opened = 1;
let refusal = null;
let fleet = [];
let timer;
const message = (message) => postMessage({ kind: 'message', message });
const round = (value) => Math.round(value * 1e6) / 1e6;
function list() {
  const at = new Date().toISOString();
  for (let from = 0; from < fleet.length; from += 50) {
    const devices = fleet.slice(from, from + 50).map(({ n, lat, lng }) => ({
      n, device_id: 'device ' + n, name: 'SN-' + n, user_id: 'user ' + n, username: 'user ' + n,
      lat, lng, alt: 0, updated_at: at,
    }));
    const part = { total: fleet.length, part: from / 50 + 1, parts: Math.ceil(fleet.length / 50) };
    message({ type: 'WATCHING', devices, ...part });
  }
}
function move() {
  // 25 m/s, which is more than a pixel of the map that shows them all.
  for (const one of fleet) {
    one.lat += Math.cos(one.course) * one.step;
    one.lng += Math.sin(one.course) * one.step;
  }
  for (let from = 0; from < fleet.length; from += 400) {
    const fixes = fleet.slice(from, from + 400).map(({ n, lat, lng }) => [n, round(lat), round(lng), 100, 25, 90]);
    message({ type: 'POSITIONS', talkgroup_id: talkgroup.id, server_time: Date.now(), fixes });
  }
}
/** The beginning and the end of talk bursts, each in the next talkgroup, in batches as of the real worker. */
let busy = [];
let eventsTimer;
function happen(perSecond) {
  let event = 0;
  let due = performance.now();
  eventsTimer = setInterval(() => {
    const changed = new Map();
    for (; due <= performance.now(); due += 1000 / perSecond) {
      const one = busy[Math.floor(event / 2) % busy.length];
      const talker = {
        session: 7, burst: event, username: 'user ' + (event % 50), startedAtMs: Date.now(), emergency: false, isOwn: false,
        lock: 'clear', unopened: null,
      };
      if (event++ % 2 === 0) one.talkers = [talker];
      else { one.talkers = []; one.last = { username: talker.username, endedAtMs: Date.now(), isCutOff: false }; }
      changed.set(one.id, { ...one });
    }
    if (changed.size > 0) postMessage({ ...nothing, talkgroups: [...changed.values()] });
  }, 16);
}
channel.onmessage = ({ data }) => {
  if (data.groups) {
    busy = Array.from({ length: data.groups }, (_, n) => (
      { ...talkgroup, id: 'talkgroup-' + n, number: data.groups - n, name: 'Group ' + n + data.suffix }));
    postMessage({ ...nothing, talkgroups: busy });
  }
  if (data.fields) {
    Object.assign(busy[data.group], data.fields);
    postMessage({ ...nothing, talkgroups: [{ ...busy[data.group] }] });
  }
  if (data.leave) postMessage({ ...nothing, left: data.leave.map((n) => 'talkgroup-' + n) });
  if (data.events !== undefined) {
    clearInterval(eventsTimer);
    if (data.events > 0) happen(data.events);
  }
  if (data.refusal !== undefined) {
    refusal = data.refusal;
    channel.postMessage({ commanded: 'refuses' });
  }
  if (data.tell) message(data.tell);
  if (data.changes) postMessage({ ...nothing, ...data.changes });
  if (data.event) postMessage(data.event);
  if (data.talkers) {
    const talkers = data.talkers.map((username, session) => ({
      session, burst: 1, username, startedAtMs: Date.now(), emergency: false, isOwn: false, lock: 'clear', unopened: null,
    }));
    postMessage({ ...nothing, talkgroups: [{ ...talkgroup, talkers }] });
  }
  if (data.lost) {
    const close = { code: 1006, reason: '' };
    const waiting = { ...connection(opened), state: 'waiting', close, retryAtMs: Date.now() + 60_000 };
    postMessage({ ...nothing, connection: waiting });
  }
  if (data.reconnect) postMessage({ ...nothing, connection: connection(++opened) });
  if (data.fleet) {
    const { devices, spread, step } = data.fleet;
    fleet = Array.from({ length: devices }, (_, n) => ({
      n, lat: 52.5 + (Math.random() - 0.5) * spread, lng: 13.4 + (Math.random() - 0.5) * 2 * spread,
      course: Math.random() * 2 * Math.PI, step,
    }));
    list();
  }
  if (data.moving !== undefined) {
    clearInterval(timer);
    if (data.moving) timer = setInterval(move, 1000);
  }
};
onmessage = ({ data }) => {
  if (data.kind === 'start') postMessage({ ...nothing, connection: connection(opened), talkgroups: [talkgroup] });
  if (data.kind !== 'request') return channel.postMessage({ commanded: data.kind });
  channel.postMessage({ asked: data.message });
  if (refusal !== null) return postMessage({ kind: 'answer', id: data.id, error: { code: 'rate_limited', message: refusal } });
  postMessage({ kind: 'answer', id: data.id, message: { type: 'OK', ref: data.id } });
};
`;

/** A user who talks in the clear since now. */
export const talkerView = (username: string, over: Partial<TalkerView> = {}): TalkerView => ({
  ...{ session: 7, burst: 1, username, startedAtMs: Date.now(), emergency: false, isOwn: false },
  ...{ lock: 'clear', unopened: null, ...over },
});

export type FakeRadio = ReturnType<typeof fakeRadioOf>;

/** Call it before the page is opened. */
export async function putFakeRadio(page: Page): Promise<void> {
  await page.route('**/radio-worker-*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: WORKER }),
  );
  await page.addInitScript((name) => {
    const channel = new BroadcastChannel(name);
    const asked: unknown[] = [];
    const commanded: string[] = [];
    channel.onmessage = ({ data }) => (data.asked ? asked.push(data.asked) : commanded.push(data.commanded));
    Object.assign(globalThis, { radioOfTest: { channel, asked, commanded } });
  }, CHANNEL);
}

export function fakeRadioOf(page: Page) {
  const say = (data: object) =>
    page.evaluate((text) => {
      // Set by putFakeRadio.
      const { radioOfTest } = globalThis as unknown as {
        radioOfTest: { channel: InstanceType<typeof BroadcastChannel> };
      };
      radioOfTest.channel.postMessage(JSON.parse(text));
    }, JSON.stringify(data));
  return {
    talkgroupId: TALKGROUP,
    /** A message of the relay. */
    tell: (message: object) => say({ tell: message }),
    /** Resolves with the message of this type that the page has sent as the `count`th one. */
    asked: (type: string, count = 1) =>
      eventually(async () => {
        const asked = (await page.evaluate('radioOfTest.asked')) as { type: string }[];
        const found = asked.filter((message) => message.type === type)[count - 1];
        if (found === undefined) throw new Error(`no ${type} was sent: ${JSON.stringify(asked)}`);
        return found;
      }),
    /** Number of messages of this type that the page has sent so far. */
    async countOf(type: string) {
      const asked = (await page.evaluate('radioOfTest.asked')) as { type: string }[];
      return asked.filter((message) => message.type === type).length;
    },
    /** Resolves when the page has sent a command of this kind that is no request. */
    commanded: (kind: string) =>
      eventually(async () => {
        const commanded = (await page.evaluate('radioOfTest.commanded')) as string[];
        if (!commanded.includes(kind)) throw new Error(`no ${kind} was sent: ${commanded.join(', ')}`);
      }),
    /** Requests are rejected with this text from now on. null: they are accepted. */
    async refuses(refusal: string | null) {
      const heard = async () =>
        ((await page.evaluate('radioOfTest.commanded')) as string[]).filter((one) => one === 'refuses')
          .length;
      const before = await heard();
      await say({ refusal });
      // The press that comes next goes another way than this message.
      await eventually(async () => {
        if ((await heard()) === before) throw new Error('the radio has not heard it');
      });
    },
    /** The connection is lost until `reconnected`. */
    lost: () => say({ lost: true }),
    reconnected: () => say({ reconnect: true }),
    /** They talk in Fire 1. */
    talkers: (usernames: readonly string[]) => say({ talkers: usernames }),
    /** What the real worker would report. */
    changes: (changes: Partial<Changes>) => say({ changes }),
    /** The call of this id is replayed. null: none. */
    replays: (playing: number | null, forgotten: readonly number[] = []) =>
      say({ event: { kind: 'replay', playing, forgotten } satisfies Event }),
    emergency: (fields: object) =>
      say({
        changes: {
          emergencies: [
            {
              ...{ talkgroup_id: TALKGROUP, state: 'acknowledged', raised_at: new Date().toISOString() },
              ...fields,
            },
          ],
        },
      }),
    /** What became of the held talks. */
    talks: (talks: readonly TalkView[]) => say({ changes: { talks } }),
    /** Further talkgroups: `Group 0` and so on, the first with the highest number. The suffix makes their names longer. */
    groups: (count: number, suffix = '') => say({ groups: count, suffix }),
    /** Parts of one of those that have changed. */
    changed: (group: number, fields: Partial<TalkgroupView>) => say({ group, fields }),
    /** The console receives them no longer. */
    left: (...groups: number[]) => say({ leave: groups }),
    /** Beginnings and ends of talk bursts in those talkgroups, until the returned function is called. */
    async events(perSecond: number) {
      await say({ events: perSecond });
      return () => say({ events: 0 });
    },
    /** Devices in a square of `spread` degrees. Each moves by `step` degrees with a batch. */
    fleet: ({ devices, spread = 0.5, step = 2.3e-4 }: { devices: number; spread?: number; step?: number }) =>
      say({ fleet: { devices, spread, step } }),
    /** One batch a second, until the returned function is called. */
    async moving() {
      await say({ moving: true });
      return () => say({ moving: false });
    },
  };
}
