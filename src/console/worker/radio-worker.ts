// Runs the radio of the console in a worker: timers of a hidden tab are slow there as well, but sockets are not.
import { systemClock } from '../../client/clock.js';
// By their files: the entry of the client imports the cryptography, which is loaded later.
import { RadioError } from '../../client/connection/requests.js';
import { openHolderDatabase } from '../../client/encryption/holder-database.js';
import { createRadio } from '../../client/radio/creating.js';
import { createRest } from '../../client/rest.js';
import { createMicrophone } from '../../client/sound/microphone.js';
import { createVoices } from '../../client/sound/voices.js';
import { createDeskRadio } from './desk-radio.js';
import { openDeskKeys } from './keys.js';
import type { Command, Event } from './messages.js';

/** The part of the worker's global object that is used here. The page's types declare it as a window. */
type Scope = {
  postMessage(event: Event): void;
  addEventListener(type: 'message', listener: (event: { data: Command }) => void): void;
};

const scope = self as unknown as Scope; // this file runs in a worker alone
const desk = createDeskRadio({
  createRadio,
  createVoices,
  createMicrophone,
  openKeys: ({ userId, changed, rest, token }) =>
    openDeskKeys({
      ...{ userId, changed, rest: createRest({ url: rest, token }) },
      openDatabase: () => openHolderDatabase(),
      loadKeyring: async () => (await import('./keyring.js')).keyringParts,
    }),
  loadReplay: async () => (await import('./replay.js')).createReplay,
  clock: systemClock,
  unixMs: Date.now,
  send: (event) => scope.postMessage(event),
  codeOf: (error) => (error instanceof RadioError ? error.code : 'internal'),
});
scope.addEventListener('message', ({ data }) => desk.take(data));
