// Two radios on two relays that press at the same moment, over and over: one of them talks, and both relays say so.
import t from 'tap';
import { floorPair, type Radio } from '../helpers/relay/floor-pair.js';

/** `make prove` lets 2,000 pairs press, `make test` a tenth. */
const PRESSES = Number(process.env.SHARED_PRESSES ?? 200);
/** A grant is told within 1,000 ms, or its request is denied. On a busy machine it takes longer. */
const ANSWER_MS_MAX = 5000;
/** A session begins 8 bursts in 10 s at most. Then other radios press. */
const BURSTS_MAX = 8;

t.setTimeout(300_000);

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function until(is: () => boolean, what: () => string): Promise<void> {
  const endMs = performance.now() + ANSWER_MS_MAX;
  while (!is()) {
    if (performance.now() > endMs) throw new Error(what());
    await turn();
  }
}

const typesOf = (radio: Radio) =>
  radio.messages.map(({ type, code, error }) => [type, code, error].filter(Boolean).join(' '));
const has = (radio: Radio, type: string) => radio.messages.some((one) => one.type === type);
const isAnswered = (radio: Radio) => has(radio, 'FLOOR_GRANTED') || has(radio, 'FLOOR_DENIED');

t.test(`of two that press at the same moment on two relays one talks, ${PRESSES} times`, async (t) => {
  const { home, other, ...first } = await floorPair(t);
  let { near, far } = first;
  let nearTalks = 0;
  for (let press = 0; press < PRESSES; press++) {
    if (press % BURSTS_MAX === 0) {
      const before = [near, far];
      [near, far] = [await home.radio(), await other.radio()];
      for (const radio of before) radio.breaks();
    }
    const pair = press % 2 === 0 ? [near, far] : [far, near];
    for (const radio of pair) {
      radio.messages.length = 0;
      radio.arrivals.length = 0;
    }
    // Up to three turns of the loop apart: of two in one turn, the relay that decides takes its own.
    for (const radio of pair) {
      radio.speaks(`${press}`, { start: true });
      for (let turns = press % 4; radio === pair[0] && turns > 0; turns--) await turn();
    }
    const told = () => `press ${press}: ${pair.map((radio) => typesOf(radio).join()).join(' | ')}`;
    await until(() => pair.every(isAnswered), told);
    const talkers = pair.filter((radio) => has(radio, 'FLOOR_GRANTED'));
    const [talker] = talkers;
    if (talkers.length !== 1 || talker === undefined) throw new Error(`${talkers.length} talk, ${told()}`);
    if (talker === near) nearTalks++;
    talker.speaks('end', { end: true });
    await until(() => pair.every((radio) => has(radio, 'TALK_ENDED')), told);
    for (const radio of pair) {
      const ends = radio.messages.filter(({ type }) => type === 'TALK_STARTED' || type === 'TALK_ENDED');
      const { number: session } = talker.session;
      const [started, ended, ...more] = ends;
      const isRight = started?.type === 'TALK_STARTED' && ended?.code === 'released' && more.length === 0;
      if (!isRight || started.session !== session || ended.session !== session)
        throw new Error(`press ${press}: ${JSON.stringify(ends)}`);
      const frames = radio.frames();
      const expected = radio === talker ? [] : [`${press}`, 'end'];
      if (`${frames}` !== `${expected}`) throw new Error(`press ${press}: frames ${frames}`);
    }
  }
  t.ok(nearTalks > 0 && nearTalks < PRESSES, `the home granted its own session ${nearTalks} times`);
});
