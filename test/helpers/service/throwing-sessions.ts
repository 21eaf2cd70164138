// Loaded before the service (node --import), on each of its threads: the sessions of users named `bug in <method>`
// throw there. The code under test has no such switch.
import uWS, { type TemplatedApp, type WebSocketBehavior } from 'uWebSockets.js';
import { Reception } from '../../../src/relay/reception/reception.js';
import { Session } from '../../../src/relay/session/session.js';

/** By the callback of the engine, or the timer, that calls it. */
export const sessionMethods = [
  'open',
  'receiveAudio',
  'receiveText',
  'pinged',
  'ponged',
  'closed',
  'end',
] as const;
export const receptionMethods = ['askBehindFrame', 'judge', 'hear', 'unhear', 'overrun', 'drained'] as const;

const ofSession = (session: unknown) => (session as Session).user.username;
for (const method of sessionMethods) breakFor(Session.prototype as unknown as Methods, method, ofSession);
// What ends it so that its end can throw, too.
breakFor(Session.prototype as unknown as Methods, 'receiveText', ofSession, 'end');
// What it is told by a step of the floor that another one made.
breakFor(Session.prototype as unknown as Methods, 'nextBurst', ofSession);
breakTimers();
fillBuffers();
for (const method of receptionMethods) {
  const ownerOf = (reception: unknown) => (reception as Reception).receiver.user.username;
  breakFor(Reception.prototype as unknown as Methods, method, ownerOf);
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

function breakFor(methods: Methods, name: string, ownerOf: (self: unknown) => string, bug = name): void {
  const whole = methods[name];
  methods[name] = function broken(this: unknown, ...args: unknown[]) {
    // Before a comma: who else has that bug goes on behind it.
    if (ownerOf(this).split(',')[0] === `bug in ${bug}`) throw new Error(`a bug in ${name}`);
    return whole?.apply(this, args);
  };
}

/** The timers of the talkgroup in which `bug in timers` talks: they are the first to ask whether it has a socket. */
function breakTimers(): void {
  const whole = Object.getOwnPropertyDescriptor(Session.prototype, 'isLive');
  Object.defineProperty(Session.prototype, 'isLive', {
    get(this: Session) {
      if (this.isTalker && this.user.username === 'bug in timers') throw new Error('a bug in timers');
      return whole?.get?.call(this);
    },
  });
}

/** What the engine says of a full buffer, and of one that is empty again, comes with a ping: to fill one takes 4 MB. */
function fillBuffers(): void {
  const whole = uWS.App;
  uWS.App = (...options) => {
    const app = whole(...options); // it counts them
    const ws = app.ws.bind(app) as TemplatedApp['ws'];
    app.ws = <T>(pattern: string, behavior: WebSocketBehavior<T>) =>
      ws<T>(pattern, {
        ...behavior,
        ping(socket, message) {
          const name = ofSession((socket.getUserData() as { session: unknown }).session);
          if (name === 'bug in overrun') void behavior.dropped?.(socket, message, false);
          else if (name === 'bug in drained') behavior.drain?.(socket);
          else void behavior.ping?.(socket, message);
        },
      });
    return app;
  };
}
