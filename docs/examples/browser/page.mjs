// A radio in a browser: logs in, plays all talkgroups of the user, and talks in the chosen one while the key is held.
import { createRadio } from 'talkgroup-radio-service/client';
import { createSound, playRadio, talkWithMicrophone } from 'talkgroup-radio-service/client/sound';

const [login, main, list, key, status, heard] = [
  'login',
  'radio',
  'talkgroups',
  'key',
  'status',
  'heard',
].map((id) => document.getElementById(id));
const sound = createSound({ workletsUrl: 'worklets.js' }); // a file of its own beside the page
let radio = null;
let talk = null;

const show = (text) => {
  status.textContent = text;
};

login.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = login.querySelector('button');
  button.disabled = true; // a second login would make a second radio
  // Now, because only a gesture of the user may start the sound.
  const started = sound.start();
  const { address: typed, username, password } = Object.fromEntries(new FormData(login));
  const address = typed.replace(/\/$/, '');
  try {
    const { ws_url: url } = await call(`${address}/.well-known/talkgroup-radio`);
    const [{ jwt: token }] = await Promise.all([
      call(`${address}/auth/login`, { username, password }),
      started,
    ]);
    radio = createRadio({ url, token, client: 'browser-example/1' });
    listen();
    await playRadio({ radio, sound });
    await radio.opened;
  } catch (error) {
    radio?.close();
    return show(error.message);
  } finally {
    button.disabled = false;
  }
  login.hidden = true;
  main.hidden = false;
  show(radio.talkgroups.size > 0 ? 'Connected' : 'You are in no talkgroup: an administrator adds you');
});

/** One REST call. Throws with the text that the service gives. */
async function call(address, body) {
  const answer = await fetch(address, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    ...(body && { headers: { 'content-type': 'application/json' } }),
  });
  const { error, ...result } = await answer.json();
  if (!answer.ok) throw new Error(error);
  return result;
}

function listen() {
  radio.on('talkgroups', showTalkgroups);
  radio.on('waiting', ({ delayMs }) =>
    show(`Connection lost, next attempt in ${Math.ceil(delayMs / 1000)} s`),
  );
  radio.on('open', () => show('Connected'));
  radio.on('stopped', ({ reason }) => show(`Stopped: ${reason}`));
  for (const event of ['talk_started', 'talk_ended', 'talkgroups']) radio.on(event, showTalkers);
}

/** In a line of its own: what is said there must not hide whether the user is on air. */
function showTalkers() {
  const talks = [...radio.talkgroups.values()].flatMap(({ name, talkers }) =>
    [...talkers.values()]
      .filter(({ session }) => session !== radio.session)
      .map(({ username }) => `${username} talks in ${name}`),
  );
  heard.textContent = talks.join(', ');
}

/** A talkgroup that the user joins or leaves comes and goes here, and the sound follows by itself. */
function showTalkgroups() {
  const before = chosenTalkgroup();
  const chosen = radio.talkgroups.has(before) ? before : [...radio.talkgroups.keys()][0];
  list.replaceChildren(
    ...[...radio.talkgroups.values()].map(({ talkgroup_id, name }) => {
      const label = document.createElement('label');
      const choice = Object.assign(document.createElement('input'), { type: 'radio', name: 'talkgroup' });
      Object.assign(choice, { value: talkgroup_id, checked: talkgroup_id === chosen });
      label.append(choice, ` ${name}`);
      return label;
    }),
  );
}

const chosenTalkgroup = () => list.querySelector('input:checked')?.value;

function press() {
  const talkgroupId = chosenTalkgroup();
  if (talk !== null || radio === null || talkgroupId === undefined) return;
  talk = talkWithMicrophone({ radio, sound, talkgroupId });
  key.setAttribute('aria-pressed', 'true');
  talk.on('state', (state) => show(wordsOf(state)));
}

/** `denied`, `revoked` and `no_microphone` come while the key is held. The user sees them until the next press. */
function wordsOf({ kind, code, talker, reason }) {
  if (kind === 'no_microphone') return `No microphone: ${reason}`;
  if (kind === 'denied') return `Denied: ${talker ? `${talker.username} talks` : code}`;
  if (kind === 'revoked') return `Talking has ended: ${code}`;
  return (
    { idle: 'Speak', requested: 'Wait', granted: 'On air', talking: 'On air', ended: 'Connected' }[kind] ??
    kind
  );
}

function release() {
  talk?.end();
  talk = null;
  key.setAttribute('aria-pressed', 'false');
}

key.addEventListener('pointerdown', (event) => {
  key.setPointerCapture(event.pointerId); // so that a release elsewhere is heard, too
  press();
});
for (const name of ['pointerup', 'pointercancel']) key.addEventListener(name, release);
addEventListener('blur', release);
addEventListener('keydown', (event) => {
  if (event.code !== 'Space' || main.hidden) return;
  event.preventDefault(); // it would scroll, and press a button
  if (!event.repeat) press();
});
addEventListener('keyup', ({ code }) => code === 'Space' && release());
