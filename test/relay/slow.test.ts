// Receivers that do not keep up: the audio and messages that they get, and the effect on others.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { comesTrue, eventually } from '../helpers/eventually.js';
import { scrape } from '../helpers/http/exposition.js';
import { type ChaosProxy, startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { narrowLink } from '../helpers/network/narrow-link.js';
import {
  around,
  exactLagsIn,
  hearsAgain,
  isFrame,
  isResync,
  lagCount,
  lagsIn,
  newestOf,
  runsOf,
} from '../helpers/relay/hearing.js';
import { FRAMES_PER_SECOND, relayClock, speech, undisturbed } from '../helpers/relay/speech.js';
import {
  connect,
  type Heard,
  type Json,
  type Person,
  type Radio,
  type Service,
  type ServiceProcess,
  service,
  serviceProcess,
} from '../helpers/service/service.js';
import { IS_PROOF } from '../helpers/within.js';

/** `make prove` takes 500. A tenth of them stops. */
const LISTENERS = Number(process.env.SLOW_LISTENERS ?? 100);
const DEAF = 0.3 * LISTENERS;
/** The relay's own clock runs while its thread waits for a core, so a busy machine makes each bound longer. */
const LONGER = IS_PROOF ? 1 : 2;
/** What is heard of what is said after a radio stopped: 2 s to the next ping, 1 s for its answer, 0.1 s to judge. */
const HEARD_MS_MAX = 3500 * LONGER;
const HEARD_FRAMES_MAX = (HEARD_MS_MAX / 1000) * FRAMES_PER_SECOND;
/** 2 s to the next ping, 10 s for its answer, and presence is announced once a second. */
const CLOSED_MS_MAX = 14_500 * LONGER;
/** Live within 200 ms of reading again. */
const BACK_FRAMES_MAX = 10 * LONGER;

t.jobs = 4;

t.test('receivers that do not keep up', { timeout: 160_000 }, async (t) => {
  t.jobs = 12;
  const s = await talkativeService(t);

  t.test(
    'a radio that stops reading hears at most 3.5 s of old audio, then LAG, then live speech',
    async (t) => {
      const [ann, rob, eve, ...people] = await persons(s, 'stops', 8);
      const fire = await s.talkgroup('stops: fire', ann, rob, eve, ...people);
      const rail = await s.talkgroup('stops: rail', rob, ...people);
      const [a, r, onlooker] = [await ann.radio(), await rob.radio(), await eve.radio()];
      const listeners = await Promise.all(people.map((person) => person.radio()));
      const [talksToo] = listeners as [Radio];
      const [inFire, inRail, own] = [speech(t, a, fire), speech(t, r, rail), speech(t, talksToo, fire)];
      const clock = relayClock(onlooker, inFire);

      const waits = await Promise.all(
        listeners.map(async (radio, index) => {
          // Each at another moment of the two seconds between two pings.
          await inFire.goesOn(FRAMES_PER_SECOND + 24 * index);
          radio.socket.pause();
          const stopped = inFire.said();
          await leavesAudio(s, radio);
          await inFire.goesOn(FRAMES_PER_SECOND);
          radio.socket.resume();
          const resumed = inFire.said();
          await hearsAgain(radio, radio === talksToo ? [inFire, inRail] : [inFire, inRail, own]);

          const [lag, ...more] = exactLagsIn(t, radio.arrivals, fire);
          t.equal(exactLagsIn(t, radio.arrivals, rail).length, 1);
          t.same(more, [], 'once');
          t.notOk(radio.arrivals.some(isResync), 'it lost no message, so none is made good');
          const { last, next } = around(lag, inFire);
          const heardMs = await clock.between(stopped, last);
          t.ok(heardMs <= HEARD_MS_MAX, `heard ${heardMs} ms of when it did not listen`);
          const silentMs = await clock.between(last, next);
          t.ok(
            Math.abs(silentMs - (lag?.sinceMs ?? 0)) < 500 * LONGER,
            `since_ms ${lag?.sinceMs}, heard ${silentMs}`,
          );
          return next - resumed;
        }),
      );
      const median = waits.sort((one, other) => one - other)[2] ?? Number.NaN;
      t.ok(median <= BACK_FRAMES_MAX, `hears ${median} frames after it listens again`);
    },
  );

  t.test('a radio that stops for 3 s repeatedly gets the number of missed frames each time', async (t) => {
    const { talkgroup, radios } = await group(s, 'again', 3);
    const [a, b, c] = radios;
    const talk = speech(t, a, talkgroup);
    const clock = relayClock(c, talk);
    for (let round = 1; round <= 3; round++) {
      await talk.goesOn(20);
      const before = lagCount(b); // on a busy machine it may have been slow without a stop of ours
      b.socket.pause();
      const stopped = talk.said();
      await Promise.all([talk.goesOn(3 * FRAMES_PER_SECOND), leavesAudio(s, b, before + 1)]);
      b.socket.resume();
      while (lagCount(b) <= before) await hearsAgain(b, [talk]);
      const lags = exactLagsIn(t, b.arrivals, talkgroup);
      t.ok(lags.length >= round);
      const heardMs = await clock.between(stopped, around(lags.at(-1), talk).last);
      t.ok(heardMs <= HEARD_MS_MAX, `heard ${heardMs} ms of when it did not listen`);
    }
  });

  t.test('a radio that reads at half the rate never lags more than 3.5 s of speech', async (t) => {
    const { people, talkgroup, radios } = await group(s, 'half', 2);
    const link = await narrowLink(t, portOf(s));
    const half = await connect(t, `ws://127.0.0.1:${link.port}/ws?token=${people[1].token}`);
    const bytes = 100;
    const talk = speech(t, radios[0], talkgroup, bytes);
    /** How much had been said when each frame came. */
    const saidBy = new Map<Heard, number>();
    half.socket.on('message', (_data, isBinary) => {
      const newest = half.frames.at(-1);
      if (isBinary && newest !== undefined) saidBy.set(newest, talk.said());
    });
    const headerBytes = 16 + 2; // ours and WebSocket's
    link.narrow(((bytes + headerBytes) * FRAMES_PER_SECOND) / 2);

    for (let lags = 0; lags < 3; lags++) await hearsAgain(half, [talk]);
    t.ok(exactLagsIn(t, half.arrivals, talkgroup).length >= 3);
    for (const run of runsOf(half.arrivals).slice(0, 3)) {
      const last = Number(run.at(-1)?.text);
      const unread = run.filter((frame) => (saidBy.get(frame) ?? 0) > last + 1).length;
      t.ok(unread <= HEARD_FRAMES_MAX, `${unread} frames were under way when it left the audio`);
      const late = Math.max(...run.map((frame) => (saidBy.get(frame) ?? 0) - Number(frame.text)));
      // At half the pace it takes twice as long to hear them.
      t.ok(late <= 2 * HEARD_FRAMES_MAX, `the oldest was heard ${late} frames late`);
    }
  });

  t.test('a link of 1.5 s does not count as lag, and a radio on it that stops reading does', async (t) => {
    const { people, talkgroup, radios } = await group(s, 'far', 2);
    const link = await chaosProxy(t, s);
    link.delay(750);
    const far = await connect(t, `ws://127.0.0.1:${link.port}/ws?token=${people[1].token}`);
    const talk = speech(t, radios[0], talkgroup);
    const lags = await undisturbed(talk, async () => {
      const before = lagCount(far);
      const end = far.frames.length + 6 * FRAMES_PER_SECOND;
      await comesTrue('6 s of speech', () => far.frames.length >= end);
      return lagCount(far) - before;
    });
    t.equal(lags, 0);

    const before = lagCount(far);
    far.socket.pause();
    await Promise.all([talk.goesOn(3 * FRAMES_PER_SECOND), leavesAudio(s, far, before + 1)]);
    far.socket.resume();
    for (let lag = 0; lag <= before; lag++) await hearsAgain(far, [talk]);
    t.equal(exactLagsIn(t, far.arrivals, talkgroup).length, before + 1);
  });

  t.test('a radio that answers nothing for 10 s is closed, and resumes with a LAG', async (t) => {
    const { people, talkgroup, radios } = await group(s, 'dead', 3);
    const [a, b, c] = radios;
    await c.asks({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroup.id], presence: true });
    const talk = speech(t, a, talkgroup);
    const clock = relayClock(c, talk);
    await talk.goesOn(FRAMES_PER_SECOND);
    const [stopped, stoppedAtMs] = [talk.said(), performance.now()];
    b.socket.pause();
    await comesTrue('its end', () => hasLeft(c, b));
    t.ok(performance.now() - stoppedAtMs > 8000, 'and not after a lag as others have');
    const closedMs = await clock.between(stopped, talk.said());
    t.ok(closedMs < CLOSED_MS_MAX, `closed after ${closedMs} ms`);

    b.socket.resume();
    await closesAsSlow(t, b);
    t.equal(lagCount(b), 0);
    const heardMs = await clock.between(stopped, newestOf(b));
    t.ok(heardMs <= HEARD_MS_MAX, `it heard ${heardMs} ms, no more than any that stops`);

    const back = await connect(t, resuming(s, people[1], b));
    t.match(back.welcome, { resumed: true, session: b.session });
    await hearsAgain(back, [talk]);
    t.equal(exactLagsIn(t, [...b.arrivals, ...back.arrivals], talkgroup).length, 1);
  });

  t.test('a lagging radio that resumes on another socket gets LAG there, then audio', async (t) => {
    const { people, talkgroup, radios } = await group(s, 'moves', 2);
    const [a, b] = radios;
    const talk = speech(t, a, talkgroup);
    await talk.goesOn(FRAMES_PER_SECOND);
    b.socket.pause();
    await leavesAudio(s, b);
    await talk.goesOn(20);
    const back = await connect(t, resuming(s, people[1], b));
    t.match(back.welcome, { resumed: true, session: b.session });
    await hearsAgain(back, [talk]);
    t.match(back.arrivals.slice(0, 2), [{ type: 'WELCOME' }, { type: 'LAG' }]);
    t.notOk(back.arrivals.some(isResync), 'WELCOME showed what was so');
    b.socket.resume();
    t.same(await b.closes(), { code: 1000, reason: 'resumed' });
    t.equal(exactLagsIn(t, [...b.arrivals, ...back.arrivals], talkgroup).length, 1);
  });

  t.test(
    'a lagging radio that subscribes or joins hears nothing there before LAG, which counts it',
    async (t) => {
      const [ann, bob, cid] = await persons(s, 'later', 3);
      const fire = await s.talkgroup('later: fire', ann, bob, cid);
      const rail = await s.talkgroup('later: rail', ann, bob, cid);
      const port = await s.talkgroup('later: port', ann, cid);
      const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];
      await c.asks({ type: 'SUBSCRIBE', talkgroup_ids: [rail.id, port.id], presence: true });
      await b.asks({ type: 'UNSUBSCRIBE', talkgroup_ids: [rail.id] });
      const inFire = speech(t, a, fire);
      await inFire.goesOn(FRAMES_PER_SECOND);
      b.socket.pause();
      await leavesAudio(s, b);

      b.says({ type: 'SUBSCRIBE', talkgroup_ids: [rail.id], mode: 'listen', ref: 'while it lags' });
      await comesTrue('it is in rail', () => hasJoined(c, b, rail.id));
      await bob.post(`/talkgroups/${port.id}/join`);
      await comesTrue('it is in port', () => hasJoined(c, b, port.id));
      const [inRail, inPort] = [speech(t, a, rail), speech(t, a, port)];
      await inPort.goesOn(20);
      b.socket.resume();
      await hearsAgain(b, [inFire, inRail, inPort]);
      const [early] = runsOf(b.arrivals);
      t.same(new Set(early?.map(({ talkgroup }) => talkgroup)), new Set([fire.number]));
      for (const talkgroup of [fire, rail, port]) {
        const [lag, ...more] = exactLagsIn(t, b.arrivals, talkgroup);
        t.ok((lag?.missed ?? 0) >= 20 && more.length === 0, `${talkgroup.name}: ${lag?.missed}`);
      }
    },
  );

  t.test(
    'a receiver that answers at once is pinged every two seconds, but not in silence or while it alone talks',
    async (t) => {
      const { talkgroup, radios } = await group(s, 'pings', 2);
      const [a, b] = radios;
      /** By the relay's own clock (ms). */
      const pings: number[] = [];
      let talkers = 0;
      a.socket.on('ping', () => talkers++);
      b.socket.on('ping', (text: Buffer) => pings.push(Number(text)));
      const talk = speech(t, a, talkgroup);
      await comesTrue('7 s of speech', () => b.frames.length >= 7 * FRAMES_PER_SECOND);
      t.equal(talkers, 0);
      talk.stop();
      const everyMs = ((pings.at(-1) ?? Number.NaN) - (pings[0] ?? Number.NaN)) / (pings.length - 1);
      // A first ping that comes late shortens the time of all, and so does an answer that comes late. At each chance: 1000.
      t.ok(everyMs >= 1250 && everyMs <= 2700, `${pings.length} pings, each ${everyMs} ms`);
      await b.hears('TALK_ENDED'); // 2 s of silence, of which the first was pinged
      const before = pings.length;
      await delay(1500);
      t.equal(pings.length, before);
    },
  );
});

t.test('a server stall of 2 s makes no receiver lag', { timeout: 160_000 }, async (t) => {
  const s = await serviceProcess(t);
  const { people, talkgroup, radios } = await group(s, 'stall', 4);
  const link = await chaosProxy(t, s);
  link.delay(750);
  const far = await connect(t, `ws://127.0.0.1:${link.port}/ws?token=${people[1].token}`);
  const talk = speech(t, radios[0], talkgroup);
  const listeners = [...radios.slice(1), far];
  for (let round = 0; round < 2; round++) {
    const [before, after] = await undisturbed(talk, async () => {
      const before = listeners.map(lagCount);
      await talk.goesOn(60);
      s.signal('SIGSTOP');
      await delay(2000);
      s.signal('SIGCONT');
      // Long enough for who is blamed wrongly to be told so.
      await talk.goesOn(2 * FRAMES_PER_SECOND);
      const last = talk.said();
      for (const radio of listeners) await comesTrue(`frame ${last}`, () => newestOf(radio) >= last);
      return [before, listeners.map(lagCount)];
    });
    t.same(after, before, 'nobody is told LAG');
  }
  for (const radio of listeners) {
    exactLagsIn(t, radio.arrivals, talkgroup);
    t.equal(radio.socket.readyState, radio.socket.OPEN);
    // Frames that the test itself did not send for so long end a burst.
    if (talk.pauseMsSince(1) < 1000) t.notOk(radio.messages.some(({ type }) => type === 'TALK_ENDED'));
  }
});

t.test(
  'when a tenth of the listeners stops reading, the others lose no frame',
  { timeout: 160_000 },
  async (t) => {
    const s = await talkativeService(t, { SOCKETS_PER_USER: '1000' });
    const [ann, bob] = await persons(s, 'many', 2);
    const talkgroup = await s.talkgroup('many', ann, bob);
    const a = await ann.radio();
    const listeners = await Promise.all(Array.from({ length: LISTENERS }, () => bob.radio()));
    const stopping = listeners.filter((_radio, index) => index % 10 === 0);
    const others = listeners.filter((radio) => !stopping.includes(radio));
    const talk = speech(t, a, talkgroup);
    const [before, after] = await undisturbed(talk, async () => {
      const before = others.map(lagCount);
      for (const radio of stopping) radio.socket.pause();
      await Promise.all(stopping.map((radio) => leavesAudio(s, radio, lagCount(radio) + 1)));
      await talk.goesOn(20);
      for (const radio of stopping) radio.socket.resume();
      for (const radio of stopping) await hearsAgain(radio, [talk]);
      return [before, others.map(lagCount)];
    });
    t.same(after, before, 'nor are they told LAG');

    talk.stop();
    const said = talk.said();
    for (const radio of listeners) await comesTrue('the last frame', () => newestOf(radio) === said - 1);
    for (const radio of listeners) {
      const missed = exactLagsIn(t, radio.arrivals, talkgroup).map((lag) => lag.missed);
      const sum = missed.reduce((sum, one) => sum + one, 0);
      t.equal(radio.frames.length + sum, said, 'every frame came or was counted');
      if (stopping.includes(radio)) t.ok(sum > 0);
    }
  },
);

t.test(
  `${DEAF} radios that read nothing use bounded memory and keep no descriptor`,
  {
    timeout: 160_000,
  },
  async (t) => {
    const s = await serviceProcess(t, {
      ...{ SOCKETS_PER_USER: '1000', FRAME_BYTES: '16384', USER_BYTES_PER_SECOND: '1000000000' },
    });
    const [ann, bob, cid] = await persons(s, 'memory', 3);
    const talkgroup = await s.talkgroup('memory', ann, bob, cid);
    const [a, c] = [await ann.radio(), await cid.radio()];
    await c.asks({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroup.id], presence: true });
    const descriptors = await s.descriptors();
    const deaf = await Promise.all(Array.from({ length: DEAF }, () => bob.radio()));
    for (const radio of deaf) radio.socket.pause();
    const before = await residentBytes(s);
    let most = before;
    // Within 10 s 8 MB for each, of which the kernel would take half: of 30 radios 120 MB would be left for us.
    speech(t, a, talkgroup, 16_000);
    await eventually(async () => {
      most = Math.max(most, await residentBytes(s));
      const online = c.messages.findLast(({ type }) => type === 'PRESENCE')?.online;
      if (online !== 2) throw new Error(`not all of them are closed: ${online} are there`);
    });
    // The engine's 64 KiB for each, with room for a garbage collection that is still to come.
    const growth = Math.round((most - before) / 2 ** 20);
    t.ok(growth < 64, `${growth} MiB more`);
    // They still hold their ends. The engine waits a while for the peer's close.
    await eventually(async () => {
      const more = (await s.descriptors()) - descriptors;
      if (more > 5) throw new Error(`${more} descriptors are still open`); // a pool may have grown meanwhile
    });
  },
);

t.test('a full send buffer pauses the audio before BACKLOG_MS does', { timeout: 160_000 }, async (t) => {
  t.jobs = 4;
  const s = await service(t, {
    ...{ FRAME_BYTES: '16384', FRAMES_PER_SECOND: '10000', USER_BYTES_PER_SECOND: '1000000000' },
    BACKLOG_MS: '60000',
  });

  // The engine collects small messages until the end of its turn. One of 16 KiB goes out at once.
  for (const bytes of [8000, 16_384]) {
    t.test(`frames of ${bytes} bytes: at most two turns are counted too many, none too few`, async (t) => {
      const { talkgroup, radios } = await group(s, `fence-${bytes}`, 4);
      const [a, b, c, d] = radios;
      /** Half a megabyte. */
      const atOnce = Math.floor(2 ** 19 / bytes);
      let said = 0;
      const says = async (frames: number) => {
        for (let frame = 0; frame < frames; frame++) {
          a.speaks(talkgroup.number, String(said).padEnd(bytes), { start: said === 0 });
          said++;
        }
        await comesTrue('all heard beside it', () => newestOf(c) === said - 1);
      };

      await says(1);
      b.socket.pause();
      for (let round = 0; round < 16; round++) {
        await says(atOnce);
        // Two ticks of the relay's timer: what was said before is no longer in doubt.
        await delay(40);
      }
      a.speaks(talkgroup.number, String(said++), { end: true });
      await c.hears('TALK_ENDED'); // the relay may read another socket first
      d.speaks(talkgroup.number, '0', { start: true });
      const newest = await c.hears('TALK_STARTED', ({ session }) => session === d.session);

      b.socket.resume();
      await b.hears('LAG');
      const { talkgroups } = await b.hears('SUBSCRIBED');
      t.match(talkgroups, [{ event: newest.event, talkers: [{ session: d.session, frames: 1 }] }]);
      t.equal((talkgroups as Json[])[0]?.talkers_total, 1, 'who fell silent meanwhile talks no more');
      a.speaks(talkgroup.number, String(said++), { start: true });
      d.speaks(talkgroup.number, '1', { end: true });
      t.match(await b.hears('TALK_STARTED', ({ burst }) => burst === 2), { session: a.session });
      await b.hears('TALK_ENDED', ({ session }) => session === d.session);
      const lagAt = b.arrivals.findIndex((arrival) => !isFrame(arrival) && arrival.type === 'LAG');
      t.ok(b.arrivals.slice(lagAt + 1, lagAt + 2).some(isResync), 'SUBSCRIBED right behind LAG');
      const [lag] = lagsIn(t, b.arrivals, talkgroup);
      const { missed = 0, lost = 0 } = lag ?? {};
      t.ok(lost > 0 && missed >= lost && missed <= lost + 2 * atOnce, `told ${missed}, lost ${lost}`);
      const messages = b.arrivals.filter((arrival): arrival is Json => !isFrame(arrival));
      const later = messages.slice(messages.findIndex(({ type }) => type === 'SUBSCRIBED') + 1);
      const event = newest.event as number;
      t.match(later, [{ event: event + 1 }, { event: event + 2 }], 'nothing stale behind the snapshots');
    });
  }

  t.test('heard frames of bursts shorter than a timer period are not counted as missed', async (t) => {
    const [ann, bob, cid] = await persons(s, 'click', 3);
    const clicks = await s.talkgroup('clicks', ann, bob, cid);
    const talkgroup = await s.talkgroup('speech', ann, bob, cid);
    const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];
    for (let burst = 0; burst < 5; burst++) {
      a.speaks(clicks.number, String(burst), { start: true, end: true });
      await b.hears('TALK_ENDED');
    }
    b.socket.pause();
    await fillsUp(a, c, talkgroup.number);
    b.socket.resume();
    const { talkgroups } = await b.hears('LAG');
    t.match(talkgroups, [{ talkgroup_id: talkgroup.id }]);
    t.equal((talkgroups as Json[]).length, 1);
  });

  t.test('a radio that reads nothing is closed after 10 s, also with full buffers', async (t) => {
    const [ann, bob, cid] = await persons(s, 'stuffed', 3);
    const talkgroup = await s.talkgroup('stuffed', ann, bob, cid);
    const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];
    await c.asks({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroup.id], presence: true });
    b.socket.pause();
    await fillsUp(a, c, talkgroup.number);
    await comesTrue('its end', () => hasLeft(c, b));
    b.socket.resume();
    await closesAsSlow(t, b);
  });
});

t.test(
  'a dropped message is known to be audio, or the state is sent again',
  { timeout: 160_000 },
  async (t) => {
    const s = await service(t, {
      ...{ FRAME_BYTES: '16384', FRAMES_PER_SECOND: '10000', USER_BYTES_PER_SECOND: '1000000000' },
      ...{ BACKLOG_MS: '60000', TALK_SILENCE_MS: '60000' },
    });

    t.test('receivers that lost audio and no text get LAG and no snapshots', async (t) => {
      const { talkgroup, radios } = await group(s, 'audio', 10);
      const [a, b, ...deaf] = radios;
      a.speaks(talkgroup.number, 'begins', { start: true });
      for (const radio of deaf) await radio.hearsText('begins');
      for (const radio of deaf) radio.socket.pause();
      // 10 MB, of which kernel and engine hold less than half for each.
      for (let frames = 0; frames < 1200; frames += 20) {
        for (let frame = 0; frame < 20; frame++) a.speaks(talkgroup.number, 'x'.repeat(8000));
        await comesTrue('all heard', () => b.frames.length > frames + 20);
      }
      for (const radio of deaf) {
        radio.socket.resume();
        await radio.hears('LAG');
        await radio.settled(); // SUBSCRIBED would have come before that
      }
      const told = deaf.filter(({ arrivals }) => arrivals.some(isResync));
      t.equal(told.length, 0, `${told.length} of ${deaf.length} were told all their talkgroups`);
    });

    t.test('a text that was dropped after a frame is followed by new snapshots', async (t) => {
      const { talkgroup, radios } = await group(s, 'hidden', 10);
      const [a, b, deaf, ...clickers] = radios;
      const ends = ({ arrivals }: Radio) =>
        arrivals.filter((one) => !isFrame(one) && one.type === 'TALK_ENDED');
      let turn = 0;
      // The kernel may take more between a frame that is dropped and the text behind it. Then the text comes, and it goes on.
      for (let round = 0; round < 5 && ends(deaf).length === turn; round++) {
        const before = await overruns(s);
        deaf.socket.pause();
        // In each turn of the relay frames, and behind them a burst of a single one.
        while ((await overruns(s)) === before) {
          for (let frame = 0; frame < 20; frame++)
            a.speaks(talkgroup.number, 'x'.repeat(8000), { start: turn + frame === 0 });
          const clicker = clickers[turn % clickers.length] as Radio;
          clicker.speaks(talkgroup.number, 'click', { start: true, end: true });
          turn++;
          await b.hears('TALK_ENDED', ({ session }) => session === clicker.session);
        }
        deaf.socket.resume();
        await deaf.hears('LAG');
        await deaf.settled();
      }
      t.ok(ends(deaf).length < turn, 'it lost the last text');
      t.ok(deaf.arrivals.some(isResync), 'and was told all its talkgroups');
    });
  },
);

t.test(
  'a permission that is suspended while the radio lags does not return with LAG',
  {
    timeout: 160_000,
  },
  async (t) => {
    const s = await talkativeService(t);
    const [ann, bob, cid] = await persons(s, 'doubt', 3);
    const fire = await s.talkgroup('fire', ann, bob, cid);
    const rail = await s.talkgroup('rail', ann, bob, cid);
    const [a, b, c] = [await ann.radio(), await bob.radio(), await cid.radio()];
    await c.asks({ type: 'SUBSCRIBE', talkgroup_ids: [fire.id], presence: true });
    const [inFire, inRail] = [speech(t, a, fire), speech(t, a, rail)];
    await inFire.goesOn(FRAMES_PER_SECOND);
    b.socket.pause();
    await leavesAudio(s, b);

    const doubt = { kind: 'left', user: bob.id, talkgroup: fire.id, id: 'a notice of the test' };
    await s.sql.begin(async (sql) => {
      // The relay reads to know whether the user left, and cannot.
      await sql`lock table memberships in access exclusive mode`;
      await s.sql`select pg_notify('talkgroup_radio', ${JSON.stringify(doubt)})`;
      await comesTrue('the withdrawal', () => hasLeft(c, b));
      b.socket.resume();
      await hearsAgain(b, [inRail]);
      await inRail.goesOn(20);
      const [, live = []] = runsOf(b.arrivals);
      t.same(new Set(live.map(({ talkgroup }) => talkgroup)), new Set([rail.number]));
    });
    const granted = inFire.said();
    await comesTrue('fire again', () =>
      b.frames.some((f) => f.talkgroup === fire.number && +f.text >= granted),
    );
  },
);

/** A process of its own whose log tells who is slow. */
function talkativeService(t: Test, environment: Record<string, string> = {}) {
  return serviceProcess(t, { LOG_LEVEL: 'info', ...environment });
}

/** Waits until the relay has taken the radio out of the audio, for the so manieth time. */
const leavesAudio = (s: ServiceProcess, { session }: Radio, times = 1) =>
  comesTrue(`session ${session} is slow`, () => {
    const told = [...s.output().matchAll(/"session":(\d+),"msg":"receiver lagging, audio paused"/g)];
    return told.filter(([, number]) => Number(number) === session).length >= times;
  });

/** 1006 when the close is behind more than it reads in time. */
async function closesAsSlow(t: Test, radio: Radio): Promise<void> {
  const { code, reason } = await radio.closes();
  t.ok(code === 1006 || (code === 1013 && reason === 'slow consumer'), `${code} ${reason}`);
}

/** Accounts with names of their own. */
async function persons(s: Service | ServiceProcess, name: string, count: number) {
  const made: Person[] = [];
  for (let index = 0; index < count; index++) made.push(await s.person(`${name}-${index}`));
  return made as [Person, Person, Person, ...Person[]];
}

/** One talkgroup, and a radio of each member. */
async function group(s: Service | ServiceProcess, name: string, count: number) {
  const people = await persons(s, name, count);
  const talkgroup = await s.talkgroup(name, ...people);
  const radios = await Promise.all(people.map((person) => person.radio()));
  return { people, talkgroup, radios: radios as [Radio, Radio, Radio, Radio, ...Radio[]] };
}

const portOf = ({ ws }: { ws: string }) => Number(new URL(ws).port);

async function chaosProxy(t: Test, s: { ws: string }): Promise<ChaosProxy> {
  const proxy = await startChaosProxy({ host: '127.0.0.1', port: portOf(s) });
  t.teardown(() => proxy.stop());
  return proxy;
}

const resuming = ({ ws }: { ws: string }, { token }: Person, { welcome }: Radio) =>
  `${ws}/ws?token=${token}&resume=${welcome?.resume_token}`;

/** Whether the onlooker, who asked for presence, was told that the other came there. */
const hasJoined = (onlooker: Radio, { session }: Radio, talkgroupId: string) =>
  onlooker.messages.some(
    ({ talkgroup_id, joined = [] }) =>
      talkgroup_id === talkgroupId &&
      (joined as { session: number }[]).some((present) => present.session === session),
  );

/** Times that the engine had no room for something. */
async function overruns({ metrics }: Service): Promise<number> {
  const { series } = await scrape(metrics);
  return series.get('talkgroup_relay_overruns_total') ?? Number.NaN;
}

/** Whether it was told that the other is gone. */
const hasLeft = (onlooker: Radio, { session }: Radio) =>
  onlooker.messages.some(({ left = [] }) => (left as number[]).includes(session));

/** Says more than kernel and engine hold for a socket that is not read, no faster than another one can follow. */
async function fillsUp(talker: Radio, onlooker: Radio, talkgroup: number): Promise<void> {
  for (let frame = 0; frame < 600; frame++) {
    talker.speaks(talkgroup, String(frame).padEnd(16_384), { start: frame === 0, end: frame === 599 });
    if (frame % 20 === 19) await comesTrue('all heard', () => newestOf(onlooker) === frame);
  }
}

/** What the process holds in memory. Linux only. */
async function residentBytes({ pid }: ServiceProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}
