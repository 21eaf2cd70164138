// Sessions that move between relays over a bus in memory: what goes with them, and what stays as it was.

import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { readBody } from '../../src/relay/cluster/bodies.js';
import { mostMissed } from '../../src/relay/hub/moving.js';
import { HEADER_BYTES, kinds } from '../../src/relay/nodes/header.js';
import { MOVED_TALKGROUPS_MAX } from '../../src/relay/session/moving.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { NOWHERE } from '../helpers/relay/relay-alone.js';
import {
  directory,
  type RelayOn,
  reached,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

t.jobs = 4;

type RadioArrivals = Awaited<ReturnType<RelayOn['radio']>>['arrivals'];

const limits = { resumeMs: 60_000, sessionsParked: 100, drainMs: 200 };

/** So many relays that reach each other. */
async function relays(t: Test, count: number, reads = directory()) {
  const network = createMemoryNetwork();
  const all = Array.from({ length: count }, (_, index) =>
    relayOn(t, network, { number: index + 1, reads, limits }),
  );
  await reached(...all);
  const [a, b, c] = all as [RelayOn, RelayOn, RelayOn];
  return { network, all, a, b, c };
}

const moved = ({ relay }: RelayOn) => relay.figures().cluster?.counts.moved;

const welcomeOf = ({ arrivals }: { arrivals: readonly object[] }) =>
  arrivals.find((one) => 'type' in one && one.type === 'WELCOME') as Record<string, unknown> & {
    talkgroups: { talkers: Record<string, unknown>[] }[];
  };

t.test('a token names its relay, and is longer only where there are others', async (t) => {
  const { a } = await relays(t, 2);
  const { token } = await a.radio();
  const bytes = Buffer.from(token, 'base64url');
  t.equal(bytes.length, 20);
  t.equal(bytes.readUInt32BE(), 1);
});

t.test('a radio that returns to another relay goes on in its burst, and no member is told', async (t) => {
  const { a, b, c, all } = await relays(t, 3);
  const ann = await a.radio();
  const listeners = [await a.radio(), await b.radio(), await c.radio()];
  await sharing(2, ...all);
  ann.says({
    type: 'SUBSCRIBE',
    talkgroup_ids: [talkgroupIdOf(2)],
    mode: 'listen',
    presence: true,
    bundle_ms: 60,
  });
  ann.speaks('a1', { start: true });
  ann.speaks('a2');
  await settled();

  const back = await b.radio(ann.user, { resume: ann.token });
  t.same(ann.closes, [[1000, 'resumed']]);
  t.equal(back.session.number, ann.session.number);
  const welcome = welcomeOf(back);
  t.match(welcome, { resumed: true, session: ann.session.number, talkgroups_total: 2 });
  t.match(welcome.talkgroups[0]?.talkers, [
    { session: ann.session.number, burst: 1, frames: 2, sequence: 1, user_id: ann.user },
  ]);
  t.not(back.token, ann.token);
  t.equal(Buffer.from(back.token, 'base64url').readUInt32BE(), 2);
  t.notOk(ann.speaks('too late'), 'the old socket says nothing any more');
  await settled();
  back.speaks('b3', { sequence: 2 });
  back.speaks('b4', { sequence: 3, end: true });
  await settled();
  for (const [index, listener] of listeners.entries()) {
    const heard = listener.heard('TALK_STARTED', 'TALK_ENDED', 'MISSED', 'frame');
    t.match(
      heard,
      [
        { type: 'TALK_STARTED', session: ann.session.number, burst: 1 },
        ...['a1', 'a2', 'b3', 'b4'].map((frame) => ({ frame, sender: ann.session.number, burst: 1 })),
        { type: 'TALK_ENDED', session: ann.session.number, burst: 1, code: 'released', frames: 4 },
      ],
      `the listener at relay ${index + 1}`,
    );
    t.equal(heard.length, 6);
  }
  t.same(back.frames(), [], 'it does not hear itself');

  back.speaks('next', { start: true, end: true });
  await settled();
  for (const listener of listeners)
    t.match(listener.heard('TALK_STARTED'), [{ session: ann.session.number, burst: 2 }], 'bursts count on');
  // What it had chosen: in talkgroup 2 it only listens, and gets bundles.
  t.notOk(back.speaks('x', { talkgroup: 2, start: true }));
  t.match(back.messages.at(-1), { type: 'ERROR', code: 'listen_only' });
  t.match(moved(a), { given: 1, taken: 0, refused: 0, lost: 0 });
  t.match(moved(b), { given: 0, taken: 1, refused: 0, lost: 0 });
  t.notOk(a.relay.figures().present.parked + b.relay.figures().present.parked, 'it is in one place');

  // And back again, before another frame.
  const again = await a.radio(ann.user, { resume: back.token });
  t.equal(again.session.number, ann.session.number);
  t.same(back.closes, [[1000, 'resumed']]);
  again.speaks('third', { start: true, end: true });
  await settled();
  for (const listener of listeners)
    t.match(listener.heard('TALK_STARTED'), [{ session: ann.session.number, burst: 3 }]);
});

t.test('a session without a socket moves, and what it missed is counted on', async (t) => {
  const { a, b, all } = await relays(t, 2);
  const ann = await a.radio();
  ann.stalls();
  const talker = await a.radio();
  const other = await b.radio();
  await sharing(2, ...all);
  ann.session.reception.overrun(false);
  await settled();
  for (let frame = 0; frame < 5; frame++) talker.speaks(`${frame}`, { start: frame === 0 });
  await settled();
  ann.breaks();
  talker.speaks('5');
  talker.speaks('6', { end: true });
  await settled();
  const back = await b.radio(ann.user, { resume: ann.token });
  t.equal(back.session.number, ann.session.number);
  const lag = await back.hears('LAG');
  t.match(lag, { talkgroups: [{ talkgroup_id: talkgroupIdOf(1), missed: 7 }] });
  other.speaks('heard', { start: true, end: true });
  await settled();
  t.same(back.frames(), ['heard'], 'it hears again');
  t.match(moved(b), { taken: 1 });
});

t.test(
  'of more talkgroups than its message may have, a session takes those along where it missed most',
  async (t) => {
    const missed = Array.from({ length: MOVED_TALKGROUPS_MAX + 100 }, (_, number) => ({
      number,
      frames: number % 7,
    }));
    const kept = mostMissed(missed);
    t.equal(kept.length, MOVED_TALKGROUPS_MAX);
    t.ok(missed.filter(({ frames }) => frames === 6).every((one) => kept.includes(one)));
    t.same(
      mostMissed(missed.slice(0, 3)),
      missed.slice(0, 3),
      'of few, each, also where it missed nothing yet',
    );
  },
);

t.test('a refused connection leaves the session and its socket as they were', async (t) => {
  const reads = directory();
  const { a, b } = await relays(t, 2, reads);
  const ann = await a.radio();
  const { accountsOf } = reads;
  let fails: 'token' | null = null;
  reads.accountsOf = async (ids) => {
    const accounts = await accountsOf(ids);
    return fails === 'token' ? accounts.map((one) => ({ ...one, valid_from: 10 })) : accounts;
  };
  fails = 'token';
  await t.rejects(b.radio(ann.user, { resume: ann.token }), { message: 'invalid token' });
  fails = null;
  const stranger = await a.radio();
  const thief = await b.radio(stranger.user, { resume: ann.token });
  t.match(welcomeOf(thief), { resumed: false }, 'the token of another user resumes nothing');
  t.same(ann.closes, []);
  t.ok(ann.session.isLive);
  t.equal((await b.radio(ann.user, { resume: ann.token })).session.number, ann.session.number);
});

t.test('of several relays that try one token at once, one gets the session', async (t) => {
  const { a, b, c } = await relays(t, 3);
  for (let trial = 0; trial < 10; trial++) {
    const ann = await a.radio();
    const tried = await Promise.all([a, b, c, b].map(({ radio }) => radio(ann.user, { resume: ann.token })));
    const winners = tried.filter(({ session }) => session.number === ann.session.number);
    t.equal(winners.filter(({ session }) => session.isLive).length, 1, `trial ${trial}`);
    const live = [a, b, c].filter(({ relay }) => relay.figures().present.sessions > 0);
    t.ok(live.length > 0);
    for (const { session } of tried) session.close({ code: 1013, reason: 'rate_limited', sentTo: 'session' });
  }
});

t.test('a lost answer is given again, and only to the question it answers', async (t) => {
  const { a, b, c, network } = await relays(t, 3);
  const ann = await a.radio();
  let lost = 0;
  const isAnswer = (to: number, bytes: Uint8Array) => to === 1 && bytes[0] === kinds.taken;
  network.lose((_from, to, _subject, bytes) => isAnswer(to, bytes) && lost++ === 0);
  const back = await b.radio(ann.user, { resume: ann.token });
  t.equal(lost, 2, 'one was lost, one was not');
  t.equal(back.session.number, ann.session.number);
  t.match(moved(a), { given: 1 });

  // All answers are lost: a relay that asks for it later gets nothing.
  network.lose((_from, to, _subject, bytes) => isAnswer(to, bytes));
  const bob = await a.radio();
  t.match(welcomeOf(await b.radio(bob.user, { resume: bob.token })), { resumed: false });
  network.lose(() => false);
  for (const { radio } of [a, b, c])
    t.match(welcomeOf(await radio(bob.user, { resume: bob.token })), { resumed: false });
  t.same(bob.closes, [[1000, 'resumed']]);
});

t.test(
  'a session that was fetched for a radio that is gone is kept, wherever the radio comes next',
  async (t) => {
    for (const next of [0, 1, 2]) {
      const { a, b, all } = await relays(t, 3);
      const ann = await a.radio();
      const listener = await a.radio();
      ann.speaks('one', { start: true });
      // No radio opens the session that this handshake fetches.
      await new Promise<void>((resolve) =>
        b.relay.admit({ claims: { sub: ann.user, iat: 0 }, resume: ann.token, from: NOWHERE }, () =>
          resolve(),
        ),
      );
      await settled();
      t.match(listener.heard('TALK_ENDED'), [{ code: 'disconnected', frames: 1 }], 'its burst ended');
      t.equal(b.relay.figures().present.parked, 1);
      const back = await all[next]?.radio(ann.user, { resume: ann.token });
      t.equal(back?.session.number, ann.session.number, `at relay ${next + 1}`);
      t.equal(b.relay.figures().present.parked, 0);
      back?.speaks('two', { start: true, end: true });
      await settled();
      t.match(listener.heard('TALK_STARTED').at(-1), { burst: 2 });
    }
  },
);

t.test('a change of rights on the way counts: the token is revoked, a talkgroup is left', async (t) => {
  const reads = directory();
  const { a, b, network } = await relays(t, 2, reads);
  const ann = await a.radio();
  ann.speaks('one', { start: true });
  const { accountsOf } = reads;
  let change: 'revoked' | 'left' = 'left';
  let isChanged = false;
  reads.accountsOf = async (ids) => {
    const accounts = await accountsOf(ids);
    if (!isChanged) return accounts;
    return accounts.map((one) =>
      change === 'revoked'
        ? { ...one, valid_from: 10 }
        : { ...one, memberships: one.memberships.filter(({ number }) => number === 2) },
    );
  };
  /** Comes to relay b while the answer of relay a is on its way. */
  const comes = async (token: string) => {
    let isTaking = false;
    network.lose((_from, to, _subject, bytes) => {
      if (to !== 1 || bytes[0] !== kinds.taken || isTaking) return false;
      isTaking = true;
      isChanged = true;
      const about = { id: `${change} ${token}`, user: ann.user };
      void b.relay.noticed(
        change === 'revoked'
          ? { kind: 'user_revoked', ...about }
          : { kind: 'left', ...about, talkgroup: talkgroupIdOf(1) },
      );
      return true;
    });
    return b.radio(ann.user, { resume: token });
  };
  const back = await comes(ann.token);
  t.equal(back.session.number, ann.session.number);
  t.match(welcomeOf(back), { talkgroups_total: 1, talkgroups: [{ talkgroup_id: talkgroupIdOf(2) }] });
  t.notOk(back.speaks('two'), 'it does not talk where it is no member');

  const home = await a.radio(ann.user, { resume: back.token });
  t.equal(home.session.number, ann.session.number);
  change = 'revoked';
  isChanged = false;
  const away = comes(home.token);
  await t.rejects(away, { message: 'invalid token' });
  for (const { relay } of [a, b]) t.equal(relay.figures().present.parked, 0, 'and the session is over');
});

for (const mode of ['open', 'single'] as const) {
  t.test(`a clear burst in ${mode} ends where encryption is required already`, async (t) => {
    const network = createMemoryNetwork();
    const [before, after] = [directory(mode), directory(mode)];
    const { accountsOf, talkgroupsOf } = after;
    const required = { encryption: 'required' as const, revision: 1 };
    after.accountsOf = async (ids) =>
      (await accountsOf(ids)).map((one) => ({
        ...one,
        memberships: one.memberships.map((membership) => ({ ...membership, ...required })),
      }));
    after.talkgroupsOf = async (ids) => (await talkgroupsOf(ids)).map((row) => ({ ...row, ...required }));
    const a = relayOn(t, network, { number: 1, reads: before, limits });
    const b = relayOn(t, network, { number: 2, reads: after, limits });
    await reached(a, b);
    const [ann, listener] = [await a.radio(), await a.radio()];
    await b.radio();
    await sharing(2, a, b);
    ann.speaks('clear', { start: true });
    await listener.hears('TALK_STARTED');
    const back = await b.radio(ann.user, { resume: ann.token });
    t.equal(back.session.number, ann.session.number);
    const code = mode === 'open' ? 'disconnected' : 'mode';
    t.match(await listener.hears('TALK_ENDED'), { session: ann.session.number, burst: 1, frames: 1, code });
    t.notOk(back.speaks('on', { sequence: 1 }), 'no frame follows');
  });
}

t.test('a relay that ends waits until its sessions were fetched, and no longer', async (t) => {
  const { a, b } = await relays(t, 2);
  const [ann, bob] = [await a.radio(), await a.radio()];
  ann.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupIdOf(1)], mode: 'events' });
  const ranMs = runningTime(t);
  const closed = a.relay.close();
  t.match(ann.messages.at(-1), { type: 'GOAWAY', reconnect_after_ms: 500, resumable: true });
  await eventually(() => {
    if (bob.closes.length === 0 || ann.closes.length === 0) throw new Error('not closed');
  });
  t.same(ann.closes, [[1012, 'restart']]);
  await t.rejects(a.radio(ann.user, { resume: ann.token }), { message: 'restart' }, 'it admits nobody');
  for (const radio of [ann, bob]) {
    const back = await b.radio(radio.user, { resume: radio.token });
    t.match(welcomeOf(back), { resumed: true, session: radio.session.number });
  }
  await closed;
  const tookMs = ranMs();
  t.ok(tookMs < 1500, `after ${Math.round(tookMs)} ms`);
  t.match(moved(a), { given: 2, refused: 0 });

  const cid = await b.radio();
  await a.relay.left();
  await eventually(() => {
    if (b.figures()?.peers !== 0) throw new Error('still there');
  });
  const alone = b.relay.close();
  t.match(cid.messages.at(-1), { type: 'GOAWAY' });
  t.notOk('resumable' in (cid.messages.at(-1) ?? {}), 'alone it is as ever');
  await alone;
});

t.test('a session that is not fetched holds up the end of its relay for 2 s', async (t) => {
  const { a } = await relays(t, 2);
  const ann = await a.radio();
  const startMs = performance.now();
  await a.relay.close();
  const ms = performance.now() - startMs;
  t.ok(ms >= 2000 && ms < 4000, `after ${Math.round(ms)} ms`);
  t.same(ann.closes, [[1012, 'restart']]);
});

t.test('a session on its way takes about 300 bytes, and 60 for each subscription', async (t) => {
  const { a, b, network } = await relays(t, 2);
  const ann = await a.radio();
  for (const number of [1, 2])
    ann.says({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupIdOf(number)], mode: 'listen', presence: true });
  let size = 0;
  network.lose((_from, _to, _subject, bytes) => {
    if (bytes[0] === kinds.taken) {
      size = bytes.byteLength;
      t.ok(readBody('taken', bytes.subarray(HEADER_BYTES)));
    }
    return false;
  });
  await b.radio(ann.user, { resume: ann.token });
  t.ok(size > 0 && size < 300 + 2 * 70, `${size} bytes`);
});

t.test('emergencies raised elsewhere count toward the limit of their user', async (t) => {
  const { a, b } = await relays(t, 2);
  const ann = await a.radio();
  const raise = (radio: typeof ann, number: number) =>
    radio.says({ type: 'EMERGENCY_RAISE', talkgroup_id: talkgroupIdOf(number), ref: 1 });
  for (let count = 0; count < 3; count++) {
    raise(ann, 1);
    const { emergency_id } = await ann.hears('OK');
    ann.says({ type: 'EMERGENCY_CLEAR', emergency_id });
    await eventually(() => {
      if (
        !ann.arrivals.some(
          (one) => 'state' in one && one.state === 'cleared' && one.emergency_id === emergency_id,
        )
      )
        throw new Error('not cleared');
    });
  }
  const back = await b.radio(ann.user, { resume: ann.token });
  raise(back, 2);
  t.match(await back.hears('ERROR'), { code: 'rate_limited' });
});

for (const loss of [0, 0.05]) {
  t.test(
    `radios that change their relays while they talk, with ${100 * loss} % of the messages lost`,
    async (t) => {
      const { all, network } = await relays(t, 3);
      const listeners = await Promise.all(all.map(({ radio }) => radio()));
      await sharing(2, ...all);
      const seed = Number(process.env.CLUSTER_SEED ?? randomInt(2 ** 31));
      t.comment(`CLUSTER_SEED=${seed}`);
      const random = randomOf(seed);
      if (loss > 0) network.lose(() => random() < loss);
      const talkers = await Promise.all([0, 1, 2, 3].map((index) => talkerOn(all, index % 3, random)));
      let stoodMs = 0;
      for (let step = 0, lastMs = performance.now(); step < 150; step++, lastMs = performance.now()) {
        for (const talker of talkers) talker.step();
        await delay(10);
        stoodMs = Math.max(stoodMs, performance.now() - lastMs);
      }
      network.lose(() => false);
      for (const talker of talkers) await talker.stop();
      await delay(loss > 0 ? 4000 : 400); // ends that were lost are found out
      const moves = talkers.reduce((sum, { moves }) => sum + moves(), 0);
      t.ok(moves > 20, `${moves} moves`);
      // A relay gives an answer up after 600 ms. All of them are in this process, which may have stood still that long.
      if (loss === 0 && stoodMs < 200)
        t.equal(
          talkers.reduce((sum, { lost }) => sum + lost(), 0),
          0,
          'every session went on',
        );
      for (const listener of listeners) check(t, listener.arrivals, loss === 0);
    },
  );
}

/** Numbers from 0 to 1, as POSIX has rand(). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** A radio that talks in bursts, and changes its relay now and then, with its old socket open or lost. */
async function talkerOn(all: readonly RelayOn[], first: number, random: () => number) {
  let at = first;
  let radio = await (all[at] as RelayOn).radio();
  let left = 0;
  let sequence = 0;
  let said = 0;
  let moves = 0;
  let lost = 0;
  let moving: Promise<void> | null = null;
  const name = radio.session.number;

  async function move(): Promise<void> {
    at = (at + 1 + Math.floor(2 * random())) % all.length;
    const { user, token, session } = radio;
    if (random() < 0.3) radio.breaks();
    radio = await (all[at] as RelayOn).radio(user, { resume: token });
    moves++;
    if (radio.session.number !== session.number) lost++;
    const goesOn = welcomeOf(radio).talkgroups.some(({ talkers }) =>
      talkers.some((one) => one.session === radio.session.number),
    );
    if (!goesOn) left = 0;
    moving = null;
  }

  return {
    moves: () => moves,
    lost: () => lost,
    step(): void {
      if (moving !== null) return;
      if (random() < 0.08) {
        moving = move();
        return;
      }
      const isFirst = left === 0;
      if (isFirst && random() < 0.6) return;
      left = isFirst ? 2 + Math.floor(40 * random()) : left - 1;
      if (isFirst) sequence = 0;
      radio.speaks(`${name}.${++said}`, { start: isFirst, end: left === 1, sequence: sequence++ });
      if (left === 1) left = 0;
    },
    async stop(): Promise<void> {
      await moving;
      if (left > 0) radio.speaks(`${name}.end`, { end: true, sequence });
    },
  };
}

/** Each frame was heard once, inside of its burst, and each burst began and ended once. `isWhole`: no message was lost. */
function check(t: Test, arrivals: RadioArrivals, isWhole: boolean): void {
  const begun = new Map<string, { frames: number; missed: number; isOver: boolean }>();
  const texts = new Set<string>();
  let goneOn = 0;
  for (const one of arrivals) {
    const key = `${'frame' in one ? one.sender : one.session}.${one.burst}`;
    const known = begun.get(key);
    if ('frame' in one) {
      if (texts.has(String(one.frame))) t.fail(`${one.frame} was heard twice`);
      texts.add(String(one.frame));
      if (known === undefined || known.isOver) t.fail(`a frame of ${key} outside of its burst`);
      else known.frames++;
    } else if (one.type === 'TALK_STARTED') {
      if (known !== undefined && (isWhole || !known.isOver)) t.fail(`${key} began twice`);
      begun.set(key, { frames: known?.frames ?? 0, missed: known?.missed ?? 0, isOver: false });
      if (known !== undefined) goneOn++;
    } else if (one.type === 'MISSED') {
      if (known !== undefined) known.missed += Number(one.missed);
    } else if (one.type === 'TALK_ENDED') {
      if (known === undefined || known.isOver) t.fail(`${key} ended twice`);
      else known.isOver = true;
      if (known && isWhole && known.frames + known.missed !== one.frames)
        t.fail(`${key}: ${known.frames} heard and ${known.missed} missed of ${one.frames}, ${one.code}`);
    }
  }
  t.ok(begun.size > 10, `${begun.size} bursts, ${goneOn} of them announced again`);
  t.same(
    [...begun].filter(([, { isOver }]) => !isOver),
    [],
    'all of them ended',
  );
}

t.test('a relay without others gives tokens as ever, and a foreign token means a new session', async (t) => {
  const { a } = await relays(t, 1);
  const foreign = Buffer.alloc(20, 7).toString('base64url');
  t.match(welcomeOf(await a.radio(undefined, { resume: foreign })), { resumed: false });
});
