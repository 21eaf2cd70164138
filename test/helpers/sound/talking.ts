// Radios in Node that talk tones and listen: the other side of a console in a browser.
import type { Test } from 'tap';
import { createRadio, type HeardFrame, type Radio } from '../../../src/client/node.js';
import { createDecoder, createEncoder, FRAME_SAMPLES } from '../../../src/client/sound/codec.js';
import type { Person, Service } from '../service/service.js';
import { joined, RATE, sine } from './tones.js';

/** Resolves when the radio is connected. */
export async function radioOf(
  t: Test,
  s: Pick<Service, 'ws'>,
  { token }: Pick<Person, 'token'>,
): Promise<Radio> {
  const radio = createRadio({ url: s.ws, token });
  t.teardown(() => radio.close());
  await radio.opened;
  return radio;
}

/** Talks a tone, one packet every 20 ms, until it is stopped. `say` changes the tone. */
export async function talkTone(t: Test, radio: Radio, talkgroupId: string, hz: number) {
  const encoder = await createEncoder();
  const talk = radio.talk({ talkgroupId });
  let now = hz;
  let from = 0;
  const startedAtMs = performance.now();
  const timer = setInterval(() => {
    for (; from / RATE < (performance.now() - startedAtMs) / 1000; from += FRAME_SAMPLES)
      talk.send(encoder.encode(sine(now, FRAME_SAMPLES, { from, peakDb: -10 })));
  }, 10);
  t.teardown(() => clearInterval(timer));
  return {
    stop() {
      clearInterval(timer);
      encoder.free();
      talk.end();
      return talk.ended;
    },
    say(other: number) {
      now = other;
    },
    /** Frames so far. */
    sent: () => from / FRAME_SAMPLES,
  };
}

/** The samples of a talker, as they come. */
export async function record(t: Test, radio: Radio) {
  const decoder = await createDecoder();
  t.teardown(() => decoder.free());
  const heard: Float32Array[] = [];
  radio.on('audio', ({ payload }: HeardFrame) => {
    if (payload.length > 0) heard.push(decoder.decode(payload));
  });
  return { heard, last: (frames: number) => joined(heard.slice(-frames)) };
}
