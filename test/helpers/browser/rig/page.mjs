// The page of the tests of sound: the console's sound, its worker's codec and the radio, and nothing to see.
import { createSound } from '../../../../src/client/sound/sound.ts';

const sound = createSound({ workletsUrl: '/worklets.js' });
const worker = new Worker('/worker.js', { type: 'module' });
const happened = [];
const answers = [];
let isLost = false;

const epochMs = () => performance.timeOrigin + performance.now();

worker.onmessage = ({ data }) => {
  if (data.kind === 'answer') answers.shift()?.(data.answer);
  else happened.push(data);
};
sound.onMicrophoneLost = () => {
  isLost = true;
  worker.postMessage({ kind: 'lost' });
};

function ask(message) {
  worker.postMessage(message);
  return new Promise((resolve) => answers.push(resolve));
}

globalThis.rig = {
  connect: (url, token) => ask({ kind: 'start', url, token }),
  add(talkgroupId) {
    const port = sound.add(talkgroupId);
    worker.postMessage({ kind: 'voice', talkgroupId, port }, [port]);
  },
  async microphone() {
    const port = await sound.openMicrophone();
    worker.postMessage({ kind: 'microphone', port }, [port]);
  },
  press(talkgroupId) {
    const atMs = epochMs();
    worker.postMessage({ kind: 'talk', talkgroupId });
    return atMs;
  },
  release: (talkgroupId) => ask({ kind: 'release', talkgroupId }),
  figures: () => ask({ kind: 'figures' }),
  isLost: () => isLost,
  /** What the worker told since the last call. */
  happened: () => happened.splice(0),
  setVolume: sound.setVolume,
  setMuted: sound.setMuted,
  setSide: sound.setSide,
  tone: sound.tone,
  level: sound.level,
  outputs: sound.outputs,
  setOutput: sound.setOutput,
};

// Playwright's click is a gesture of the user, without which no context may run.
const button = document.createElement('button');
button.textContent = 'Start';
button.onclick = async () => {
  await sound.start();
  document.title = 'started';
};
document.body.append(button);
