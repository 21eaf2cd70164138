// Loads what the operator has set for the console.
import { callRest } from './rest.js';

export type Config = {
  /** Address of the relay. */
  ws_url: string;
  /** null: the map that is built in. */
  map_style_url: string | null;
  version: string;
};

/** Rejects with RestError. */
export const loadConfig = (): Promise<Config> => callRest<Config>({ method: 'GET', path: 'config.json' });
