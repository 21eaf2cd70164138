// Faults that a test plants into relays in virtual time, to show that the histories find them.
import { HomeSide } from '../../../src/relay/shared-floor/home-side.js';
import { PartSender } from '../../../src/relay/shared-floor/part-sender.js';

export const faults = [
  'no turn gap',
  'no mutual hearing',
  'no top',
  'a relay answers that is not the home',
  'verdicts of an old part are taken',
  'verdicts from anybody',
  'the order ignores after',
  'a foreign turn is not held',
  'a running burst is forgotten',
  'a claim is kept after retry_later',
  'a grant is not held back',
  'parts are not repeated',
  'a new home does not wait for the parts',
  'a fenced burst is not told',
  'two relays find different homes',
  'a burst goes on beside one that is alone',
  'old parts are taken',
] as const;
export type Fault = (typeof faults)[number];

/** Plants a fault that is in the code of every relay. The answer takes it out again. */
export function plant(fault: Fault | null): () => void {
  if (fault === 'no turn gap') {
    const { restart } = HomeSide.prototype;
    HomeSide.prototype.restart = function (_gap, ...seen) {
      restart.call(this, 0, ...seen);
    };
    return () => {
      HomeSide.prototype.restart = restart;
    };
  }
  if (fault === 'parts are not repeated') {
    const { repeat } = PartSender.prototype;
    PartSender.prototype.repeat = () => {};
    return () => {
      PartSender.prototype.repeat = repeat;
    };
  }
  if (fault === 'a new home does not wait for the parts') {
    const { isComplete } = HomeSide.prototype;
    HomeSide.prototype.isComplete = () => true;
    return () => {
      HomeSide.prototype.isComplete = isComplete;
    };
  }
  if (fault === 'old parts are taken') {
    const { heard } = HomeSide.prototype;
    HomeSide.prototype.heard = function (relay, part, claims, nowMs) {
      return heard.call(this, relay, { ...part, v: 1 }, claims, nowMs);
    };
    return () => {
      HomeSide.prototype.heard = heard;
    };
  }
  return () => {};
}
