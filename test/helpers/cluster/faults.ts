// Faults that a test plants into relays in virtual time, to show that the histories find them.

import { HomeSide } from '../../../src/relay/shared-floor/home-side.js';
import { PartSender } from '../../../src/relay/shared-floor/part-sender.js';
import { Order } from '../../../src/relay/shared-floor/turns/order.js';

export const faults = [
  'no mutual hearing',
  'no top',
  'a fenced burst is not told',
  'a relay answers that is not the home',
  'two relays find different homes',
  'a grant is not held back',
  'an overtaken burst is played',
  'parts are not repeated',
  'old parts are taken for new ones',
  'a refusal is not kept for its relay',
  'a revoked grant goes on',
  'a revoked first frame is not answered',
  'an emergency counts as other speech',
  'a healed split is seen late',
] as const;
export type Fault = (typeof faults)[number];

/** Plants a fault that is in the code of every relay. The answer takes it out again. */
export function plant(fault: Fault | null): () => void {
  const [order, home, sender] = [Order.prototype, HomeSide.prototype, PartSender.prototype];
  switch (fault) {
    case 'an overtaken burst is played':
      return replace(order, 'isPast', () => false);
    case 'parts are not repeated':
      return replace(sender, 'repeat', () => {});
    case 'a refusal is not kept for its relay':
      return replace(home, 'refuse', () => {});
    case 'old parts are taken for new ones': {
      const { heard } = home;
      return replace(home, 'heard', function (this: HomeSide, relay, part, ...rest) {
        return heard.call(this, relay, { ...part, v: 1 }, ...rest);
      });
    }
    default:
      return () => {};
  }
}

function replace<Of extends object, Name extends keyof Of>(of: Of, name: Name, by: Of[Name]): () => void {
  const before = of[name];
  of[name] = by;
  return () => {
    of[name] = before;
  };
}
