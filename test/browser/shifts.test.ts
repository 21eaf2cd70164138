// The memory of a console over shifts of a dispatcher: each shift has the same work, and leaves nothing behind.
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import type { Radio } from '../../src/client/node.js';
import { createEncoder, FRAME_SAMPLES } from '../../src/client/sound/codec.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { heapOf } from '../helpers/browser/heap.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';
import { radioOf } from '../helpers/sound/talking.js';
import { sine } from '../helpers/sound/tones.js';

/** `make prove` plays 2,000 talk bursts a shift, about those of eight hours. */
const BURSTS = Number(process.env.SHIFT_BURSTS ?? 100);
const SHIFTS = Number(process.env.SHIFTS ?? 4);
/** Shifts before the heap is compared: caches fill, and code is compiled. */
const WARM = 2;
const RADIOS = 10;
const FRAMES = 5;
/** The goal for the page and its worker together. */
const HEAP_MAX = 100e6;
/** What two measurements of an idle page differ by: less than 0.1 MB was seen. */
const NOISE = 1e6;

const names = Array.from({ length: RADIOS }, (_, index) => `Fire ${index}`);

t.test('the heap of a console does not grow over shifts', { timeout: 1_200_000 }, async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { role: 'admin' });
  const people = await Promise.all(names.map((name, i) => s.person(`radio ${name}`, { serial: `SN-${i}` })));
  const groups = await Promise.all(names.map((name) => s.talkgroup(name, ann, ...people)));
  const browser = await startChromium(t, { hasWebGl: true });
  const { page, tile, button, choose } = await desk(t, browser, s, ann);
  const radios = await Promise.all(people.map((person) => radioOf(t, s, person)));
  const packet = await toneOf();
  const sizes: number[] = [];
  const heap = await heapOf(page);

  /** Each radio talks in each talkgroup in turn, raises an emergency once, moves and comes anew. */
  const talks = async (radio: Radio, index: number) => {
    for (let burst = 0; burst < BURSTS / RADIOS; burst++) {
      const { id } = groups[(index + burst) % RADIOS] ?? { id: '' };
      await talk(radio, id, packet);
      await people[index]?.call('POST', `/devices/${await deviceOf(index)}/gps`, {
        ...{ lat: 52 + burst / 1000, lng: 13 + index / 100, alt: 34 },
      });
      if (burst % 10 === 0) radio.reconnect();
    }
    const emergency = await radio.emergency.raise({ talkgroupId: groups[index]?.id ?? '' });
    await radio.emergency.clear(emergency);
  };
  const devices = new Map<number, string>();
  async function deviceOf(index: number): Promise<string> {
    const known = devices.get(index);
    if (known !== undefined) return known;
    const [row] = await s.sql`select device_id from users where id = ${people[index]?.id ?? ''}`;
    devices.set(index, row?.device_id);
    return row?.device_id;
  }
  /** Opens what a dispatcher opens. */
  const looks = async () => {
    for (const name of names.slice(0, 3)) {
      await choose('Members of', name);
      await page.getByRole('dialog').getByText('radio Fire 0').first().waitFor();
      await page.keyboard.press('Escape');
      await button('Mute', name).click();
      await button('Mute', name).click();
    }
    for (const tab of ['Map', 'Admin', 'Talkgroups']) {
      await page.getByRole('tab', { name: tab }).click();
      await delay(500); // what the tab loads and draws
    }
  };

  for (let shift = 0; shift < SHIFTS; shift++) {
    await Promise.all([looks(), ...radios.map(talks)]);
    await tile('Fire 0').getByText('talked').waitFor();
    await comesTrue('no alarm is open', async () => (await page.getByRole('alert').count()) === 0);
    sizes.push(await heap());
  }
  // On the error stream, because the runner shows no comment.
  process.stderr.write(
    `heap after each shift: ${sizes.map((size) => (size / 1e6).toFixed(2)).join(', ')} MB\n`,
  );
  const [before = 0, last = 0] = [sizes[WARM - 1], sizes.at(-1)];
  t.ok(last <= HEAP_MAX, `${last} bytes`);
  t.ok(last - before <= NOISE, `${last - before} bytes more than after shift ${WARM}`);
});

async function toneOf(): Promise<Uint8Array> {
  const encoder = await createEncoder();
  const packet = encoder.encode(sine(440, FRAME_SAMPLES, { peakDb: -20 }));
  encoder.free();
  return packet;
}

async function talk(radio: Radio, talkgroupId: string, packet: Uint8Array): Promise<void> {
  const talk = radio.talk({ talkgroupId });
  for (let frame = 0; frame < FRAMES; frame++) {
    talk.send(packet);
    await delay(20); // the pace of speech
  }
  talk.end();
  await talk.ended;
}
