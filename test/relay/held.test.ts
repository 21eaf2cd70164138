// Held audio, through the real wire: a radio that asked for fewer writes or fewer messages hears what a live one hears, in the
// same order, but later, and nothing that may not be heard any more.
import t, { type Test } from 'tap';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { END, KIND_BUNDLE } from '../../src/protocol/frame.js';
import { comesTrue } from '../helpers/eventually.js';
import { exactLagsIn, hearsAgain, isFrame, lagCount, readsOf } from '../helpers/relay/hearing.js';
import { FRAMES_PER_SECOND, speech } from '../helpers/relay/speech.js';
import { isUnderLoad, type Json, type Person, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt, toldEverywhere } from '../helpers/service/two-nodes.js';

t.setTimeout(300_000);
t.jobs = 7;

/** `make prove` takes 500. */
const TRIALS = Number(process.env.HELD_TRIALS ?? 8);

// Frames are sent as fast as can be, no burst ends by silence, and modes are changed all the time.
const FAST = {
  FRAMES_PER_SECOND: '10000',
  USER_BYTES_PER_SECOND: '1000000000',
  TEXTS_PER_SECOND: '1000',
  TALK_SILENCE_MS: '60000',
};
// No radio lags: the radios of all tests here share a thread, which may be busy for longer than the usual time.
const s = await service(t, { ...FAST, BACKLOG_MS: '10000' });

type Hold = { coalesce_ms?: number; bundle_ms?: number };
const HOLDS: readonly Hold[] = [
  { coalesce_ms: 10 },
  { coalesce_ms: 20 },
  { bundle_ms: 40 },
  { bundle_ms: 60 },
];
const nameOf = (hold: Hold) => JSON.stringify(hold).replaceAll(/[{}"]/g, '');

const subscribe = (radio: Radio, { id }: { id: string }, more: Json = {}) =>
  radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [id], ...more });

/** How many frames were in each message with audio, from here on. */
function sizesOf({ socket }: Radio): number[] {
  const sizes: number[] = [];
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) sizes.push(decodeFrames(data).length);
  });
  return sizes;
}

const textsOf = ({ frames }: Radio, talker?: Radio) =>
  frames.filter(({ sender }) => talker === undefined || sender === talker.session).map(({ text }) => text);

const eachOnce = (texts: readonly string[]) =>
  [...new Set(texts.map(Number))].sort((a, b) => a - b).map(String);

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

t.test('a radio with held audio hears what a live one hears, in the order of each talker', async (t) => {
  const group = await s.crew(t, 8, { name: 'same' });
  const [a, b, c, live, ...held] = group.radios;
  await Promise.all(held.map((radio, index) => subscribe(radio, group, HOLDS[index])));
  const readsLive = readsOf(live);
  const reads = held.map(readsOf);
  const talkers = [a, b, c];
  let said = 0;
  // On a busy machine a round takes longer than a window, and nothing is joined: then more of them. Under load the live
  // one is held for longer than they are.
  const isJoined = () => isUnderLoad || reads.every((read) => read() < readsLive());
  while (said < 10 || !isJoined()) {
    for (const talker of talkers) {
      talker.speaks(group.number, String(said));
      // One after the other, so that a live one reads each by itself.
      const heard = () => textsOf(live, talker).length + missedIn(live.arrivals, talker);
      await comesTrue('the live one hears', () => heard() > said);
    }
    said++;
  }
  for (const talker of talkers) talker.speaks(group.number, String(said), { end: true });
  said++;
  for (const radio of held) {
    await comesTrue('all', () => radio.messages.filter(({ type }) => type === 'TALK_ENDED').length === 3);
    for (const talker of talkers) {
      hearsAll(t, radio, talker, said);
      t.equal(startedAndEnded(radio, talker), `[${said}]`);
    }
  }
});

/** Frames of the talker that were lost between two relays, as these arrivals tell. */
const missedIn = (arrivals: Radio['arrivals'], { session }: Radio): number =>
  arrivals.reduce((sum, one) => {
    const isMissed = !isFrame(one) && one.type === 'MISSED' && one.session === session;
    return isMissed ? sum + Number(one.missed) : sum;
  }, 0);

/** The radio heard the first `said` frames of the talker in order, each once, except for those that MISSED told of. */
function hearsAll(t: Test, radio: Radio, talker: Radio, said: number): void {
  const missed = missedIn(radio.arrivals, talker);
  const heard = textsOf(radio, talker);
  if (!isDealt) t.equal(missed, 0, 'one relay loses none');
  t.equal(heard.length + missed, said, 'every frame came or was told as missed');
  const came = new Set(heard);
  t.same(heard, missed === 0 ? numbers(said) : numbers(said).filter((text) => came.has(text)));
}

/** `[n]`: TALK_STARTED, n frames, those that MISSED told of included, and TALK_ENDED, which told of n. */
function startedAndEnded({ arrivals }: Radio, talker: Radio): string {
  const { session } = talker;
  const missed = missedIn(arrivals, talker);
  return arrivals
    .map((one) => {
      if (isFrame(one)) return one.sender === session ? 'f' : '';
      if (one.session !== session) return '';
      return one.type === 'TALK_STARTED' ? '[' : one.type === 'TALK_ENDED' ? `${one.frames}]` : '';
    })
    .join('')
    .replace(/f+(\d+)\]/, (frames, told) =>
      frames.length - told.length - 1 + missed === +told ? `${told}]` : frames,
    );
}

for (const [bundle_ms, most] of [
  [40, 2],
  [60, 3],
] as const) {
  t.test(
    `bundles of ${bundle_ms} ms hold ${most} frames, and END and the window send what there is`,
    async (t) => {
      const group = await s.crew(t, 2, { name: `bundles ${bundle_ms}` });
      const [a, b] = group.radios;
      await subscribe(b, group, { bundle_ms });
      const sizes = sizesOf(b);
      let said = 0;
      // On a busy machine a round may take longer than the window, which then sends what there is.
      for (let isQuick = false; !isQuick; ) {
        sizes.splice(0);
        const begunAtMs = performance.now();
        for (let frame = 0; frame <= 3 * most; frame++) a.speaks(group.number, String(said++));
        await b.hearsText(String(said - 1));
        isQuick = performance.now() - begunAtMs < 2 * bundle_ms;
      }
      t.same(sizes.splice(0), [most, most, most, 1], 'the last one waited for its window');

      for (const text of ['x', 'y']) a.speaks(group.number, text, { end: text === 'y' });
      await b.hears('TALK_ENDED');
      t.same(sizes.splice(0), [2]);
      t.same(textsOf(b), [...numbers(said), 'x', 'y']);
      t.match(b.arrivals.at(-1), { type: 'TALK_ENDED', frames: said + 2 });

      for (let burst = 0; burst < 3; burst++) a.speaks(group.number, 'z', { start: true, end: true });
      await b.hearsFrames(said + 5);
      t.same(sizes, [1, 1, 1], 'never of two bursts');
    },
  );
}

t.test('what happens in a talkgroup is heard in its order, held or not', async (t) => {
  /** Two relays know of two talkers in any order, unless the second one waits for the first. */
  async function settled(radio: Radio): Promise<void> {
    await radio.settled();
    await heardEverywhere();
  }
  const group = await s.crew(t, 8, { name: 'order' });
  const [a, b, , live, ...held] = group.radios;
  await Promise.all(held.map((radio, index) => subscribe(radio, group, HOLDS[index])));
  a.speaks(group.number, '1', { start: true });
  await settled(a);
  await s.admin.patch(`/talkgroups/${group.id}`, { name: 'order, renamed' });
  await toldEverywhere(group.radios, ({ type }) => type === 'TALKGROUP_CHANGED');
  a.speaks(group.number, '2');
  await settled(a);
  await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
  await a.hears('KEY_ROTATED');
  await toldEverywhere(group.radios, ({ type }) => type === 'KEY_ROTATED');
  a.speaks(group.number, '3');
  await settled(a);
  b.speaks(group.number, '4', { start: true });
  await settled(b);
  await b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  await heardEverywhere();
  a.speaks(group.number, '5', { start: true, end: true });
  await settled(a);
  await live.settled();
  const inOrder = ({ arrivals }: Radio) =>
    arrivals.flatMap((one) => (isFrame(one) ? [one.text] : 'ref' in one ? [] : [one.type]));
  const expected = inOrder(live).slice(1);
  t.equal(expected.length, 13, String(expected));
  for (const [index, radio] of held.entries()) {
    await radio.settled();
    t.same(inOrder(radio).slice(1), expected, nameOf(HOLDS[index] ?? {}));
  }
});

t.test('a radio that changes between live and held all the time hears every frame once', async (t) => {
  const group = await s.crew(t, 3, { name: 'changing' });
  const [a, b, c] = group.radios;
  await subscribe(c, group, { coalesce_ms: 20 });
  let said = 0;
  let isOver = false;
  const talking = (async () => {
    while (!isOver) {
      a.speaks(group.number, String(said++));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  })();
  const ways = [...HOLDS, {}, { bundle_ms: 60, mode: 'listen' }, {}, { coalesce_ms: 20 }];
  for (let change = 0; change < 100; change++) await subscribe(b, group, ways[change % ways.length]);
  isOver = true;
  await talking;
  a.speaks(group.number, String(said++), { end: true });
  for (const radio of [b, c]) {
    await radio.hears('TALK_ENDED');
    hearsAll(t, radio, a, said);
  }
});

t.test('a member that changes its own subscription does not open the bundles of another', async (t) => {
  const group = await s.crew(t, 3, { name: 'undisturbed' });
  const [a, b, c] = group.radios;
  await subscribe(c, group, { bundle_ms: 60 });
  const sizes = sizesOf(c);
  let next = 0;
  // On a busy machine a round may take longer than the window, which then sends what there is.
  for (let isQuick = false; !isQuick; ) {
    sizes.splice(0);
    const begunAtMs = performance.now();
    for (let frame = 0; frame < 3; frame++) {
      a.speaks(group.number, String(next++));
      await a.settled();
      await subscribe(b, group, HOLDS[frame]);
    }
    isQuick = performance.now() - begunAtMs < 50;
    await c.hearsText(String(next - 1));
  }
  t.same(sizes, [3]);
  a.speaks(group.number, String(next++), { end: true });
  for (const radio of [b, c]) {
    await radio.hears('TALK_ENDED');
    hearsAll(t, radio, a, next);
  }
});

t.test('no radio hears itself, whether its socket lives, died or was replaced meanwhile', async (t) => {
  const group = await s.crew(t, 2, { name: 'own', floor_mode: 'single' });
  const [ann] = group.people;
  let [a, b] = group.radios;
  const other = await ann.radio();
  await Promise.all([b, other, a].map((radio) => subscribe(radio, group, { bundle_ms: 60 })));
  const own: Radio[] = [a];
  for (const text of numbers(6)) a.speaks(group.number, text);
  for (const radio of [b, other]) await radio.hearsFrames(6);
  await a.settled();
  for (let trial = 0; trial < TRIALS; trial++) {
    for (let frame = 0; frame < 2; frame++) a.speaks(group.number, `${2 * trial + frame}`);
    if (trial % 3 === 1) a.socket.terminate();
    if (trial % 3 !== 0) {
      a = await ann.resumes(a);
      t.equal(a.welcome?.resumed, true);
      own.push(a);
    }
  }
  a.speaks(group.number, 'last', { end: true });
  for (const radio of [b, other]) {
    await radio.hears('TALK_ENDED');
    t.equal(textsOf(radio).at(-1), 'last');
    t.equal(radio.frames.length, 2 * TRIALS + 1);
  }
  for (const radio of own) t.same(radio.frames, []);
});

t.test('a resumed session is held as before', async (t) => {
  const group = await s.crew(t, 2, { name: 'resumed' });
  const [a, b] = group.radios;
  await subscribe(b, group, { bundle_ms: 60 });
  b.socket.terminate();
  const back = await group.people[1].resumes(b);
  t.equal(back.welcome?.resumed, true);
  const sizes = sizesOf(back);
  for (const text of numbers(6)) a.speaks(group.number, text);
  await back.hearsFrames(6);
  t.same(sizes, [3, 3]);
  a.speaks(group.number, 'last', { end: true });
  await back.hearsFrame();
});

t.test('another window is a bad message, and so are both', async (t) => {
  const group = await s.crew(t, 1, { name: 'bad windows' });
  const [a] = group.radios;
  for (const bad of [
    { coalesce_ms: 0 },
    { coalesce_ms: 15 },
    { coalesce_ms: 40 },
    { coalesce_ms: '10' },
    { bundle_ms: 0 },
    { bundle_ms: 20 },
    { bundle_ms: 59.9 },
    { bundle_ms: true },
    { coalesce_ms: 10, bundle_ms: 40 },
  ])
    t.match(await subscribe(a, group, bad), { type: 'ERROR', code: 'bad_message' }, JSON.stringify(bad));
});

t.test('a bundle sent by a client is a bad frame', async (t) => {
  const group = await s.crew(t, 2, { name: 'bad bundle' });
  const [a] = group.radios;
  a.speaks(group.number, 'x', { flags: KIND_BUNDLE });
  t.match(await a.hears('ERROR'), { code: 'bad_frame' });
});

t.test(`${TRIALS} talkers leave: nothing of them is given to a listener after the 200`, async (t) => {
  const { group, talkers, gone } = await crossing(t, 'leave');
  const radios = await Promise.all(talkers.map((talker) => talker.radio()));
  let discarded = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    discarded += await gone(group, radios, () => talkers[0].delete(`/talkgroups/${group.id}/leave`));
    await talkers[0].post(`/talkgroups/${group.id}/join`);
  }
  t.ok(discarded > 0, `${discarded} frames were held, and discarded`);
});

t.test(`${TRIALS} devices are disabled: nothing of their talkers is given after the 200`, async (t) => {
  const { group, talkers, gone } = await crossing(t, 'disable');
  const status = `/devices/${talkers[0].device}/status`;
  let discarded = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const radios = await Promise.all(talkers.map((talker) => talker.radio()));
    discarded += await gone(group, radios, () => s.admin.patch(status, { active: false }));
    await s.admin.patch(status, { active: true });
  }
  t.ok(discarded > 0, `${discarded} frames were held, and discarded`);
});

t.test(`${TRIALS} talkgroups are deleted: nothing is given of them after the 200`, async (t) => {
  const { talkers, listeners, gone } = await crossing(t, 'delete');
  const radios = await Promise.all(talkers.map((talker) => talker.radio()));
  let discarded = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    const group = await s.talkgroup(`delete ${trial}`);
    const join = `/talkgroups/${group.id}/join`;
    await Promise.all([...talkers, ...listeners.people].map((person) => person.post(join)));
    await listeners.subscribe(group);
    discarded += await gone(group, radios, () => s.admin.delete(`/talkgroups/${group.id}`));
  }
  t.ok(discarded > 0, `${discarded} frames were held, and discarded`);
});

t.test(`${TRIALS} talkers are preempted: nothing of them is given after FLOOR_REVOKED`, async (t) => {
  const { group, gone } = await crossing(t, 'preempt');
  await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single' });
  let discarded = 0;
  for (let trial = 0; trial < TRIALS; trial++) {
    // Another radio each time: a session may begin only 8 bursts in 10 s.
    const [talker, dispatcher] = [await s.person(`preempted-${trial}`), await s.person(`by-${trial}`, ADMIN)];
    for (const person of [talker, dispatcher]) await person.post(`/talkgroups/${group.id}/join`);
    const [a, d] = [await talker.radio(), await dispatcher.radio()];
    discarded += await gone(group, [a], async () => {
      d.says({ type: 'FLOOR_REQUEST', talkgroup_id: group.id, priority: 7 });
      await a.hears('FLOOR_REVOKED', ({ code }) => code === 'preempted');
    });
    for (const radio of [a, d]) radio.socket.close(1000);
  }
  t.ok(discarded > 0, `${discarded} frames were held, and discarded`);
});

const ADMIN = { role: 'admin' } as const;

/** Two talkers of one device, and listeners of all kinds who notice when they are given what is over. */
async function crossing(t: Test, name: string) {
  const { people, radios, ...group } = await s.crew(t, 6, { name });
  const [c, live, ...held] = radios;
  const talkers = [
    await s.person(`${name}-ann`, { serial: `${name}-SN` }),
    await s.person(`${name}-bob`, { serial: `${name}-SN` }),
  ] as const;
  for (const talker of talkers) await talker.post(`/talkgroups/${group.id}/join`);
  const subscribeAll = (to: { id: string }) =>
    Promise.all(held.map((radio, index) => subscribe(radio, to, HOLDS[index])));
  await subscribeAll(group);
  /** Another talkgroup: what is said there now leaves behind everything that is held. */
  const beside = await s.talkgroup(`${name}, beside`);
  for (const person of people) await person.post(`/talkgroups/${beside.id}/join`);
  await subscribeAll(beside);

  /**
   * They speak numbered frames without a pause while the change is made that takes the right of the first. Answers how
   * many of its frames others heard and the held ones did not: a live one on another relay may have missed more.
   */
  async function gone(to: { number: number }, speakers: readonly Radio[], change: () => Promise<unknown>) {
    const [first] = speakers as [Radio];
    const listeners = [live, ...held];
    const before = new Set(listeners.flatMap(({ arrivals }) => arrivals));
    let sent = 0;
    let isChanging = true;
    const speak = () => {
      for (const radio of speakers) radio.speaks(to.number, String(sent));
      sent++;
    };
    const talking = async () => {
      while (isChanging) {
        speak();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const changing = async () => {
      await live.hearsText('5');
      await change();
    };
    // When another relay decides the floor, a flood before its answer displaces the first frames: only 24 are kept.
    speak();
    await live.hearsText('0');
    const changed = changing().finally(() => {
      isChanging = false;
    });
    await Promise.all([talking(), changed]);
    const sentBefore = sent;
    for (let more = 0; more < 5; more++) speak();
    for (const radio of speakers) await radio.settled().catch(() => {}); // closed by the change, as it should be
    // What another relay holds of a burst is over there when its end is told.
    await toldEverywhere(
      listeners,
      (told) => told.type === 'TALK_ENDED' && told.session === first.session && !before.has(told),
    );
    await Promise.all(listeners.map((radio) => radio.settled()));
    const heard = held.map((radio) => textsOf(radio, first).length);
    c.speaks(beside.number, 'behind');
    await Promise.all(listeners.map((radio) => radio.hearsText('behind')));
    t.same(
      held.map((radio) => textsOf(radio, first).length),
      heard,
      'nothing more',
    );
    for (const radio of listeners) {
      const texts = textsOf(radio, first);
      t.ok(
        texts.every((text) => Number(text) < sentBefore),
        'nothing that was said after it',
      );
      const missed = missedIn(
        radio.arrivals.filter((one) => !before.has(one)),
        first,
      );
      if (!isDealt) t.equal(missed, 0, 'one relay loses none');
      if (missed === 0) t.same(texts, numbers(texts.length), 'and until then everything');
      else {
        t.same(texts, eachOnce(texts), 'and until then each frame once, in order');
        t.ok(Number(texts.at(-1)) + 1 - texts.length <= missed, 'and those between were told as missed');
      }
    }
    const discarded = heard.reduce((sum, one) => sum + Math.max(0, textsOf(live, first).length - one), 0);
    for (const radio of listeners) radio.frames.splice(0);
    return discarded;
  }

  return { group, talkers, listeners: { people, subscribe: subscribeAll }, gone };
}

t.test('LAG says to the frame what one missed who is held in each talkgroup by another window', async (t) => {
  const s = await service(t, { ...FAST, BACKLOG_MS: '300' });
  const [ann, bob] = [await s.person('lag-ann'), await s.person('lag-bob')] as [Person, Person];
  const groups = await Promise.all(HOLDS.map((hold) => s.talkgroup(`lag ${nameOf(hold)}`, ann, bob)));
  const [a, b] = [await ann.radio(), await bob.radio()];
  for (const [index, group] of groups.entries()) await subscribe(b, group, HOLDS[index]);
  const talks = groups.map((group) => speech(t, a, group));
  await talks[0]?.goesOn(20);
  for (let round = 1; round <= 2; round++) {
    b.socket.pause();
    await talks[0]?.goesOn(3 * FRAMES_PER_SECOND); // 2 s to the next ping
    b.socket.resume();
    await hearsAgain(b, talks);
  }
  t.ok(lagCount(b) >= 2);
  for (const talk of talks) talk.stop();
  for (const [index, group] of groups.entries()) {
    const said = talks[index]?.said() ?? 0;
    a.speaks(group.number, String(said), { end: true });
    await b.hears('TALK_ENDED', ({ talkgroup_id }) => talkgroup_id === group.id);
    const missed = exactLagsIn(t, b.arrivals, group).reduce((sum, lag) => sum + lag.missed, 0);
    const heard = b.frames.filter(({ talkgroup }) => talkgroup === group.number);
    t.equal(heard.length + missed, said + 1, 'every frame came or was counted');
    t.ok(missed > 0);
    t.equal(heard.at(-1)?.flags, END);
  }
});
