// Stored recordings at the console: the list of several talkgroups, playback in a row, missed calls, names of files.
import { signal } from '@preact/signals';
import fc from 'fast-check';
import t from 'tap';
import { recordingKeysWith } from '../../src/client/encryption/recorded.js';
import type { MissedRecordings, Recording } from '../../src/client/recordings/types.js';
import { RestError } from '../../src/client/rest.js';
import { closedBecause, speechOf } from '../../src/console/recordings/closed.js';
import { fileNameOf } from '../../src/console/recordings/file-name.js';
import { recordingKeys } from '../../src/console/recordings/keys.js';
import { type Absence, createMissed } from '../../src/console/recordings/missed.js';
import { oldestFirst } from '../../src/console/recordings/oldest-first.js';
import { createPlaylist, type Speech } from '../../src/console/recordings/playlist.js';
import { createTab, queryOf, type Search } from '../../src/console/recordings/state.js';
import { wordsOf } from '../../src/console/recordings/words.js';
import type { HowOver } from '../../src/console/replay/state.js';
import { SUITE } from '../../src/protocol/encryption.js';
import { ENCRYPTED, type Frame } from '../../src/protocol/frame.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { turn } from '../helpers/client/fakes.js';
import { recordingOf } from '../helpers/client/recording.js';

const frame = { sequence: 0, payload: Uint8Array.of(1), atMs: 0 };
const turns = async (count = 10) => {
  for (let n = 0; n < count; n += 1) await turn();
};

t.test('the recordings of several talkgroups come as one list, by time, whatever their pages', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(fc.nat({ max: 1_000 }), { maxLength: 12, size: 'max' }), {
        maxLength: 4,
        size: 'max',
      }),
      fc.integer({ min: 1, max: 5 }),
      async (groups, limit) => {
        const all = groups.map((times, session) =>
          times.toSorted((one, other) => one - other).map((startedAt) => recordingOf({ startedAt, session })),
        );
        const parts = groups.map((_, index) => ({ talkgroupId: String(index), since: 0, until: 1 }));
        const found: Recording[] = [];
        const listed = oldestFirst(parts, async ({ talkgroupId }, after) => {
          const rows = all[Number(talkgroupId)] ?? [];
          const from = rows.findIndex(({ recording_id }) => recording_id === after) + 1;
          const recordings = rows.slice(from, from + limit);
          const isLast = from + limit >= rows.length;
          return { recordings, next: isLast ? null : (recordings.at(-1)?.recording_id ?? null) };
        });
        for await (const one of listed) found.push(one);
        const expected = all.flat().sort((one, other) => (one.recording_id < other.recording_id ? -1 : 1));
        if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error('not by time');
      },
    ),
  );
  t.pass('in 100 lists');
});

/** A playlist whose player and service the test plays. */
function playing() {
  const log: string[] = [];
  let isLoading = 0;
  const loads = new Map<string, (speech: Speech) => void>();
  let over: (how: HowOver) => void = () => {};
  const list = createPlaylist({
    load({ session }) {
      isLoading += 1;
      if (isLoading > 1) log.push('two at once');
      log.push(`load ${session}`);
      return new Promise((resolve) => {
        loads.set(String(session), (speech) => {
          isLoading -= 1;
          resolve(speech);
        });
      });
    },
    playRecording({ session }) {
      log.push(`play ${session}`);
      return new Promise((resolve) => {
        over = resolve;
      });
    },
    stopReplay: () => over('stopped'),
    noSound: 'no sound',
    inWords: () => 'no list',
  });
  const rows = [1, 2, 3].map((session) => recordingOf({ session }));
  return {
    ...{ list, log, rows },
    loaded: async (session: number, speech: Speech = [frame]) => {
      loads.get(String(session))?.(speech);
      await turns();
    },
    over: async (how: HowOver) => {
      over(how);
      await turns();
    },
    sessions: () => [list.current.value?.session, list.loading.value?.session],
  };
}

t.test('recordings are played in a row, and the next one is loaded while one is played', async (t) => {
  const { list, log, rows, loaded, over, sessions } = playing();
  const outcome = list.play(rows);
  await turns();
  t.strictSame(sessions(), [undefined, 1]);
  await loaded(1);
  t.strictSame(log.splice(0), ['load 1', 'play 1', 'load 2']);
  t.strictSame(sessions(), [1, undefined]);
  await over('ended');
  t.strictSame(sessions(), [undefined, 2], 'it is not loaded yet');
  await loaded(2);
  await loaded(3);
  t.strictSame(log.splice(0), ['play 2', 'load 3']);
  await over('ended');
  t.strictSame(log.splice(0), ['play 3']);
  t.strictSame(sessions(), [3, undefined], 'without a moment in between');
  await over('ended');
  t.strictSame(await outcome, { leftOut: 0, reason: null, at: null });
  t.strictSame(sessions(), [undefined, undefined]);
});

t.test('a recording that cannot be played is left out, and the outcome says so', async (t) => {
  const { list, log, rows, loaded, over } = playing();
  const outcome = list.play(rows);
  await turns();
  await loaded(1, 'no key');
  await loaded(2);
  await over('ended');
  await loaded(3, 'erased');
  t.strictSame(await outcome, { leftOut: 2, reason: 'erased', at: null });
  t.strictSame(log, ['load 1', 'load 2', 'play 2', 'load 3']);
});

t.test('stop, another list and another replay end a list, and say where', async (t) => {
  for (const end of ['stop', 'other', 'replay', 'talk'] as const) {
    const { list, rows, loaded, over } = playing();
    const outcome = list.play(rows);
    await turns();
    await loaded(1);
    await over('ended');
    await loaded(2);
    if (end === 'stop') list.stop();
    else if (end === 'other') void list.play([]);
    else await over(end === 'replay' ? 'stopped' : 'not_played');
    t.match(await outcome, { at: rows[1], reason: end === 'talk' ? 'no sound' : null }, end);
  }
});

t.test('what is loaded when the user stops is not played', async (t) => {
  const { list, log, rows, loaded, sessions } = playing();
  const outcome = list.play(rows);
  await turns();
  list.stop();
  t.strictSame(sessions(), [undefined, undefined]);
  await loaded(1);
  t.match(await outcome, { at: rows[0] });
  t.strictSame(log, ['load 1']);
});

t.test('a list that cannot be read is over, with the reason', async (t) => {
  const { list } = playing();
  async function* none(): AsyncGenerator<Recording> {
    yield await Promise.reject<Recording>(new RestError(503, 'busy'));
  }
  t.match(await list.play(none()), { reason: 'no list', at: null });
});

const HOUR = 3_600_000;
const missedIn = (talkgroup_id: string, recordings: number, over: object = {}) => ({
  ...{ talkgroup_id, recordings, emergencies: 0 },
  ...{ first_at: new Date(0).toISOString(), last_at: new Date(0).toISOString(), ...over },
});

/** Missed calls of a page. `answer` is called with each absence that the page asks for. */
function away(texts = new Map<string, string>()) {
  const asked: Absence[] = [];
  let answer: (absence: Absence) => Promise<MissedRecordings['talkgroups']> = async () => [];
  const shelf = {
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
  };
  const missed = createMissed({
    async ask(absence) {
      const { since, until } = absence;
      asked.push({ since, until });
      return { since: new Date(since).toISOString(), talkgroups: await answer(absence) };
    },
    ...{ shelf, userId: 'ann' },
  });
  return {
    ...{ missed, asked, texts },
    answers(next: typeof answer) {
      answer = next;
    },
  };
}

t.test('the first visit misses nothing, and each absence after it is asked for once', async (t) => {
  const { missed, asked, answers } = away();
  missed.back(1_000);
  missed.heard(5_000);
  await turns();
  t.strictSame(asked, []);
  answers(async () => [missedIn('fire', 12), missedIn('police', 20, { emergencies: 1 })]);
  missed.lost(4_000);
  missed.back(9_000);
  await turns();
  t.strictSame(asked, [{ since: 4_000, until: 9_000 }]);
  t.strictSame(missed.counts.value, { calls: 32, talkgroups: 2, emergencies: 1, isMore: true });
  t.strictSame(missed.parts(), [
    ['fire', 'police'].map((talkgroupId) => ({ talkgroupId, since: 4_000, until: 9_000 })),
  ]);
  answers(async () => [missedIn('fire', 1)]);
  missed.lost(10_000);
  missed.back(11_000);
  await turns();
  t.strictSame(asked.slice(1), [{ since: 10_000, until: 11_000 }]);
  t.match(missed.counts.value, { calls: 33, talkgroups: 2 });
  missed.forget();
  t.strictSame([missed.counts.value, missed.parts()], [null, []]);
});

t.test(
  'a page that is opened again asks from when the user heard last, and for what is not forgotten',
  async (t) => {
    const first = away();
    first.missed.back(1_000);
    first.missed.lost(4_000);
    first.answers(async () => [missedIn('fire', 1)]);
    first.missed.back(9_000);
    first.missed.heard(20_000);
    await turns();
    const second = away(first.texts);
    second.missed.back(HOUR);
    await turns();
    t.strictSame(second.asked, [
      { since: 4_000, until: 9_000 },
      { since: 20_000, until: HOUR },
    ]);
    t.equal(second.missed.counts.value, null, 'there were none');
    const third = away(first.texts);
    third.missed.back(48 * HOUR);
    await turns();
    t.strictSame(third.asked, [{ since: HOUR, until: 48 * HOUR }], 'and an empty absence is over');
  },
);

t.test(
  'calls after the return were heard, and a service without an answer is asked at the next return',
  async (t) => {
    const { missed, asked, answers } = away();
    missed.lost(4_000);
    answers(async () => [missedIn('fire', 3, { first_at: new Date(10_000).toISOString() })]);
    missed.back(9_000);
    await turns();
    t.equal(missed.counts.value, null);
    answers(async () => {
      throw new RestError(503, 'busy');
    });
    missed.lost(20_000);
    missed.back(21_000);
    await turns();
    t.equal(missed.counts.value, null);
    answers(async () => [missedIn('fire', 1)]);
    missed.lost(30_000);
    missed.back(31_000);
    await turns();
    t.strictSame(
      asked.map(({ since }) => since),
      [4_000, 20_000, 20_000, 30_000],
    );
    t.match(missed.counts.value, { calls: 2 });
  },
);

t.test('after a part of the missed calls the rest is asked for', async (t) => {
  const { missed, asked, answers } = away();
  answers(async () => [missedIn('fire', 5)]);
  missed.lost(1_000);
  missed.back(2_000);
  missed.lost(4_000);
  missed.back(9_000);
  await turns();
  asked.length = 0;
  answers(async () => [missedIn('fire', 2)]);
  missed.goOnFrom(6_000);
  await turns();
  t.strictSame(asked, [{ since: 6_000, until: 9_000 }]);
  t.match(missed.counts.value, { calls: 2 });
});

t.test('many absences become few, and what is stored is read with care', async (t) => {
  const { missed, asked } = away();
  missed.lost(1_000);
  for (let at = 2; at < 40; at += 2) {
    missed.back(at * 1_000);
    missed.lost((at + 1) * 1_000);
  }
  missed.back(50_000);
  await turns(40);
  t.ok(asked.length > 0);
  for (const stored of ['7', '{}', '{"untilMs":"x","absences":[1,{"since":4,"until":3}]}', '{'])
    t.strictSame(away(new Map([['talkgroup.heard.ann', stored]])).missed.parts(), [], stored);
});

t.test('a file is named by talkgroup, time and talker, for every system', async (t) => {
  t.equal(fileNameOf(recordingOf()), 'Fire-1_2026-11-25T140322Z_ann.ogg');
  t.equal(
    fileNameOf(recordingOf({ talkgroup_name: 'Löschzug / Süd: "2"', username: '..' })),
    'Löschzug-Süd-2_2026-11-25T140322Z.ogg',
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (talkgroup_name, username) =>
      /^[\p{L}\p{M}\p{N}_.-]{1,120}$/u.test(fileNameOf(recordingOf({ talkgroup_name, username }))),
    ),
  );
});

const crypto = { suite: SUITE, epoch: 9, salt: 'AAAA' };

t.test('what cannot be played says why, before it is loaded where that is known', async (t) => {
  const [none, holder] = [
    { isHolder: false, isAdmin: false },
    { isHolder: true, isAdmin: false },
  ];
  t.equal(closedBecause(recordingOf(), none), null);
  t.match(closedBecause(recordingOf({ crypto }), none), /before this browser was accepted as a key holder/);
  t.match(closedBecause(recordingOf({ crypto }), { ...none, isAdmin: true }), /no key for it until/);
  t.equal(closedBecause(recordingOf({ crypto }), holder), null);
  t.match(closedBecause(recordingOf({ erased_at: '2026-11-25T15:00:00Z' }), holder), /erased/);
  const codec = { name: 'codec2', sample_rate: 8_000, frame_ms: 40 };
  t.match(closedBecause(recordingOf({ codec }), holder), /codec2/);
  t.match(speechOf({ frames: [], unopened: {} }), /No speech/);
  t.match(speechOf({ frames: [], unopened: { encrypted: 3 } }), /no key/);
  t.match(speechOf({ frames: [], unopened: { no_key: 3 } }), /before this browser was accepted/);
  t.strictSame(speechOf({ frames: [frame as never], unopened: { changed: 3 } }), [frame]);
});

const sealed = { flags: ENCRYPTED, sequence: 0, payload: new Uint8Array(40) } as Frame; // what opening reads of it

/** Keys over a database of the test and a service that answers with this failure. */
function keysOf({
  isHolder = true,
  holderId = 'own' as string | null,
  isBroken = false,
  failure = new RestError(404, 'x', null, 'recording_key_not_found'),
} = {}) {
  const log: string[] = [];
  const keys = recordingKeys({
    userId: 'ann',
    rest: {
      async get(path) {
        log.push(path);
        throw failure;
      },
    },
    isHolder: () => isHolder,
    async openDatabase() {
      log.push('open');
      if (isBroken) throw new Error('a private window');
      return {
        async registered(userId) {
          log.push(`holder of ${userId}`);
          return holderId === null ? null : { holderId, publicKey: new Uint8Array(65), pair: {} as never };
        },
        close: () => log.push('close'),
      };
    },
    async loadCryptography() {
      log.push('load');
      return { recordingKeysFor: (options) => recordingKeysWith(nodePrimitives, options) };
    },
  });
  return { keys, log };
}

t.test('without a holder in this browser each frame has no key, and no cryptography is loaded', async (t) => {
  for (const [given, expected] of [
    [{ isHolder: false }, []],
    [{ holderId: null }, ['open', 'holder of ann', 'close']],
    [{ isBroken: true }, ['open']],
  ] as const) {
    const { keys, log } = keysOf(given);
    const open = await keys.opener(recordingOf({ crypto }));
    t.equal(open(sealed), 'no_key');
    t.strictSame(log, expected);
  }
});

t.test('a holder asks for the key of the recording, and says whether it is lost to all', async (t) => {
  const recording = recordingOf({ crypto });
  const { keys, log } = keysOf();
  t.equal((await keys.opener(recording))(sealed), 'no_key');
  const path = `/recordings/${recording.recording_id}/key?holder_id=own`;
  t.strictSame(log, ['open', 'holder of ann', 'close', 'load', path]);
  const lost = keysOf({ failure: new RestError(410, 'x', null, 'recording_key_lost') });
  await t.rejects(lost.keys.opener(recording), { code: 'recording_key_lost' });
  const busy = keysOf({ failure: new RestError(503, 'x', 1, 'unavailable') });
  await t.rejects(busy.keys.opener(recording), { code: 'unavailable' });
  const unannounced = keysOf();
  t.equal((await unannounced.keys.opener(recordingOf()))(sealed), 'unannounced');
});

t.test('a search without text asks for all, and times are local', async (t) => {
  const search: Search = { talkgroupId: 'fire', from: '', to: '', talker: ' ', isEmergency: false };
  t.strictSame(queryOf(search), {});
  const from = '2026-11-25T14:03';
  t.strictSame(queryOf({ ...search, from, to: '2026-11-25T15:00', talker: ' ann', isEmergency: true }), {
    since: new Date(2026, 10, 25, 14, 3).getTime(),
    until: new Date(2026, 10, 25, 15, 0).getTime(),
    ...{ talker: 'ann', emergency: true },
  });
  t.equal(queryOf({ ...search, from, to: from }), null);
});

t.test('the tab goes from a search to the missed calls and back', async (t) => {
  const listed: unknown[] = [];
  const areMissedShown = signal(false);
  const tab = createTab({
    client: {
      async list(talkgroupId, query) {
        listed.push({ talkgroupId, ...query });
        return { recordings: [recordingOf({ session: listed.length })], next: null };
      },
    },
    async *missedCalls() {
      for (let session = 0; session < 60; session += 1) yield recordingOf({ session });
    },
    areMissedShown,
  });
  const stop = tab.follow();
  t.equal(tab.list.value, null);
  t.ok(tab.search({ talkgroupId: 'fire', from: '', to: '', talker: '', isEmergency: false }));
  await turns();
  t.strictSame(listed, [{ talkgroupId: 'fire', limit: 50 }]);
  t.equal(tab.list.value?.rows.value.length, 1);
  areMissedShown.value = true;
  await turns(200);
  t.strictSame([tab.shown.value?.kind, tab.list.value?.rows.value.length], ['missed', 50]);
  await tab.list.value?.more();
  t.strictSame([tab.list.value?.isWhole.value, tab.list.value?.rows.value.length], [true, 60]);
  areMissedShown.value = false;
  await turns();
  t.strictSame([tab.shown.value?.kind, listed.length], ['search', 2]);
  stop();
});

t.test('failures have words of their own', async (t) => {
  for (const [error, words] of [
    [new RestError(0, ''), /did not answer/],
    [new TypeError('x'), /did not answer/],
    [new RestError(404, 'x', null, 'talkgroup_not_found'), /may not hear/],
    [new RestError(409, 'x', null, 'recording_held'), /legal hold/],
    [new RestError(410, 'x', null, 'recording_erased'), /erased/],
    [new RestError(410, 'x', null, 'recording_key_lost'), /key was destroyed/],
    [new RestError(403, 'x'), /may not hear/],
    [new RestError(429, 'x'), /too much to do/],
    [new RestError(400, 'limit must be'), /400: limit must be/],
  ] as const)
    t.match(wordsOf(error), words);
});
