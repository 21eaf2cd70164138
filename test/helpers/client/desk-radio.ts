// The worker of the console without a browser: its commands, its events, and the relay that it speaks to.
import { createRadio, RadioError } from '../../../src/client/radio.js';
import { createDeskRadio, type DeskRadioParts } from '../../../src/console/worker/desk-radio.js';
import type { DeskKeys } from '../../../src/console/worker/keys.js';
import type { Changes, Event } from '../../../src/console/worker/messages.js';
import { createReplay } from '../../../src/console/worker/replay.js';
import { nodePrimitives } from '../../../src/protocol/node-primitives.js';
import { ALPHA, fakeNetwork, manualClock, turn } from './fakes.js';

/** Of a browser that is no key holder. */
export const noKeys = (): DeskKeys => ({
  store: {
    primitives: nodePrimitives,
    ...{ secretFor: () => null, want() {}, forget() {}, onChange: () => () => {} },
  },
  view: () => ({ state: 'none', holderId: null, fingerprint: null }),
  register: async () => ({ isAccepted: true }),
  accept: async () => null,
  forget: async () => {},
});

/** A worker of the console that has been started. Its relay is `socket()`. */
export async function setUp(
  keys = noKeys(),
  { createVoices, loadReplay = async () => createReplay }: Partial<DeskRadioParts> = {},
) {
  const clock = manualClock();
  const { WebSocket, sockets } = fakeNetwork();
  const events: Event[] = [];
  const heard: string[] = [];
  const desk = createDeskRadio({
    createRadio: (options) => createRadio({ ...options, WebSocket, random: () => 0 }),
    createVoices:
      createVoices ??
      (async () => ({
        attach: (id) => heard.push(`attach ${id === ALPHA.talkgroup_id ? 'Alpha' : id}`),
        detach() {},
        hear: ({ sequence, payload }) => heard.push(`hear ${sequence} ${payload.length}`),
        lagged: () => heard.push('lagged'),
        ended: (_id, session, burst) => heard.push(`ended ${session}/${burst}`),
        close() {},
      })),
    createMicrophone: async () => ({ attach() {}, start() {}, stop() {}, close() {} }),
    openKeys: async () => keys,
    loadReplay,
    clock,
    unixMs: () => 1_000_000,
    send: (event) => events.push(event),
    codeOf: (error) => (error instanceof RadioError ? error.code : 'internal'),
  });
  const { port1 } = new MessageChannel();
  port1.close();
  desk.take({ kind: 'voice', talkgroupId: ALPHA.talkgroup_id, port: port1 });
  const addresses = { url: 'ws://relay', rest: 'http://rest' };
  desk.take({ kind: 'start', ...addresses, token: 'x', userId: 'u1', jitterMs: 60 });
  await turn();
  const socket = () => {
    const last = sockets.at(-1);
    if (last === undefined) throw new Error('no socket was opened');
    return last;
  };
  const changes = () =>
    events.filter((event) => event.kind === 'changes') as ({ kind: 'changes' } & Changes)[];
  return { clock, desk, socket, events, heard, changes };
}
