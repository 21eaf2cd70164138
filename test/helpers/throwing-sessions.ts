// Loaded before the service (node --import), on each of its threads: the sessions of whoever is named `bug in <method>`
// throw there. The code under test has no such switch.
import { Reception } from '../../src/relay/reception.js';
import { Session } from '../../src/relay/session.js';

/** By the callback of the engine, or the timer, that calls it. */
export const sessionMethods = ['open', 'receiveAudio', 'receiveText', 'pinged', 'ponged', 'closed'] as const;
export const receptionMethods = ['pulse', 'judge'] as const;

for (const method of sessionMethods)
  breakFor(Session.prototype as unknown as Methods, method, (session) => (session as Session).user.username);
for (const method of receptionMethods) {
  const ownerOf = (reception: unknown) => (reception as { session: Session }).session.user.username; // private to types alone
  breakFor(Reception.prototype as unknown as Methods, method, ownerOf);
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

function breakFor(methods: Methods, name: string, ownerOf: (self: unknown) => string): void {
  const whole = methods[name];
  methods[name] = function broken(this: unknown, ...args: unknown[]) {
    if (ownerOf(this) === `bug in ${name}`) throw new Error(`a bug in ${name}`);
    return whole?.apply(this, args);
  };
}
