// Starts the service with a database of its own.
import { type Server, type ServerOptions, startOfNode, withFolder, withServer } from './start.js';

/** Ours, with what is needed to write users into its database. */
export interface Relay extends Server {
  /** `http://host:port` */
  readonly restUrl: string;
  /** `http://host:port/metrics` */
  readonly metricsUrl: string;
  readonly dataDir: string;
  readonly jwtSecret: string;
}

export interface RelayOptions extends ServerOptions {
  /** The compiled main.js of another build. Without it that of this one. */
  readonly main?: URL;
}

/** Our service with a database of its own in a temporary folder. Both are gone when `use` has settled. */
export function withRelay<T>(options: RelayOptions, use: (relay: Relay) => Promise<T>): Promise<T> {
  return withFolder(async (dataDir) => {
    const jwtSecret = 'a bench signs its own tokens: no secret';
    const settings = {
      DATA_DIR: dataDir,
      PORT: '0',
      WS_PORT: '0',
      METRICS_PORT: '0',
      JWT_SECRET: jwtSecret,
      ...options.settings,
    };
    const main = options.main ?? new URL('../../src/main.js', import.meta.url);
    const start = startOfNode(main, options.nodeFlags);
    return withServer(start, { ...options, settings }, (server, printed) => {
      const restUrl = /^REST +(\S+)$/m.exec(printed)?.[1] ?? '';
      const metricsUrl = /^Metrics +(\S+)$/m.exec(printed)?.[1] ?? '';
      return use({ ...server, dialect: 'relay', restUrl, metricsUrl, dataDir, jwtSecret });
    });
  });
}
