// Makes the radios of a kind of disturbance.
import type { Disturbance, DisturbanceKind, DisturbanceOptions } from './disturbance.js';
import { createFlooder } from './flooder.js';
import { createSlowRadios } from './slow-radios.js';

/** Resolves when its radios have joined. */
export function createDisturbance(
  options: DisturbanceOptions,
  disturbance: DisturbanceKind,
): Promise<Disturbance> {
  return disturbance.kind === 'flood'
    ? Promise.resolve(createFlooder(options, disturbance.framesPerSecond))
    : createSlowRadios(options, disturbance);
}
