// Declares the settings that the REST API reads, as the configuration has them.

/** The connections and requests that the server accepts, and their time limits. */
export interface ListenerSettings {
  /** Addresses and CIDR ranges. Empty: X-Forwarded-For is ignored. */
  readonly TRUST_PROXY: readonly string[];
  readonly REST_CONNECTIONS: number;
  readonly HEADER_BYTES: number;
  readonly URL_BYTES: number;
  readonly HEADERS_TIMEOUT_S: number;
  readonly REQUEST_TIMEOUT_S: number;
  readonly ANSWER_TIMEOUT_S: number;
}

/** The web console. */
export interface ConsoleSettings {
  readonly CONSOLE: 'on' | 'off';
  /** Unset: made of the Host header and the port of the relay. */
  readonly PUBLIC_WS_URL?: string;
  /** Unset: no base map of other servers. */
  readonly MAP_STYLE_URL?: string;
  readonly MAP_ORIGINS: readonly string[];
  /** Unset: there is no map file. */
  readonly MAP_FILE?: string;
}

/** All but those of the console. */
export interface HttpSettings extends ListenerSettings {
  readonly HOST: string;
  readonly PORT: number;
  readonly BODY_BYTES: number;
  /** null: any origin. */
  readonly CORS_ORIGINS: readonly string[] | null;
}
