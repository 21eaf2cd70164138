// The worker of that page: a radio, the voices and the microphone, connected as the console connects them.
import { createRadio } from '../../../../src/client/radio.ts';
import { createMicrophone } from '../../../../src/client/sound/microphone.ts';
import { createVoices } from '../../../../src/client/sound/voices.ts';

const START = 8;
const epochMs = () => performance.timeOrigin + performance.now();
const ready = Promise.all([createVoices(), createMicrophone()]);
let voices = null;
let microphone = null;
const talks = new Map();
let radio = null;

const commands = {
  start({ url, token }) {
    radio = createRadio({ url, token });
    radio.on('open', () => answer(radio.session));
    radio.on('audio', (frame) => {
      if (frame.flags & START) postMessage({ kind: 'heard', session: frame.session, atMs: epochMs() });
      voices.hear(frame, frame.receivedAtMs);
    });
    radio.on('lag', ({ talkgroupId, missed }) => {
      voices.lagged(talkgroupId);
      postMessage({ kind: 'lag', missed });
    });
    radio.on('talk_ended', (end) => voices.ended(end.talkgroup_id, end.session, end.burst));
  },
  voice: ({ talkgroupId, port }) => voices.attach(talkgroupId, port),
  microphone: ({ port }) => microphone.attach(port),
  talk({ talkgroupId }) {
    const talk = radio.talk({ talkgroupId });
    talks.set(talkgroupId, talk);
    microphone.start((packet) => talk.send(packet));
  },
  async release({ talkgroupId }) {
    answer(await end(talkgroupId));
  },
  lost() {
    for (const talkgroupId of [...talks.keys()]) void end(talkgroupId);
  },
  figures: () => answer(voices.figures()),
};

function answer(value) {
  postMessage({ kind: 'answer', answer: value });
}

async function end(talkgroupId) {
  microphone.stop();
  const talk = talks.get(talkgroupId);
  talks.delete(talkgroupId);
  talk?.end();
  return await talk?.ended;
}

// A listener that is added after an await would miss what came before.
addEventListener('message', async ({ data }) => {
  [voices, microphone] = await ready;
  commands[data.kind](data);
});
