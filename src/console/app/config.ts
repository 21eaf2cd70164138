// Loads what the operator has set for the console.
import { callRest } from '../../client/rest.js';

export type Config = {
  /** Address of the relay. */
  ws_url: string;
  /** null: the map that is built in. */
  map_style_url: string | null;
  /** The map is a file of the service. */
  map_file: boolean;
  version: string;
};

/** Rejects with RestError. */
export const loadConfig = (): Promise<Config> => callRest<Config>({ method: 'GET', path: 'config.json' });
