// Lists every metric, in the order in which a scrape shows them.
import { clusterFamilies } from './cluster-families.js';
import { databaseFamilies } from './database-families.js';
import type { Family } from './family.js';
import { httpFamilies } from './http-families.js';
import { keyFamilies } from './key-families.js';
import { processFamilies, serviceFamilies } from './process-families.js';
import { recordingFamilies } from './recording-families.js';
import { relayFamilies } from './relay-families.js';

/** All metrics. Label values come from the code, such as a reason or a route template, never from a client. */
export const families: readonly Family[] = [
  ...serviceFamilies,
  ...relayFamilies,
  ...clusterFamilies,
  ...databaseFamilies,
  ...httpFamilies,
  ...keyFamilies,
  ...recordingFamilies,
  ...processFamilies,
];
