// Makes the addresses of the service as the client of a request reaches them.

export interface RelayParts {
  /** PUBLIC_WS_URL. */
  readonly publicUrl: string | undefined;
  /** The Host header of the request. */
  readonly host: string | undefined;
  /** Port of the relay. */
  readonly port: number;
  /** The request came over TLS, to the service or to a trusted proxy. */
  readonly secure: boolean;
}

/** A name or an address, and perhaps a port. A client can send any text as Host. */
const PLAIN_HOST = /^([\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Where the client of this request reaches REST, without a final slash. null: as for the relay. */
export function restAddress({ host = '', secure }: Pick<RelayParts, 'host' | 'secure'>): string | null {
  const address = `${secure ? 'https' : 'http'}://${host}`;
  return PLAIN_HOST.test(host) && URL.canParse(address) ? address : null;
}

/**
 * Where the client of this request reaches the relay. null: its Host header is more than a name or an address with a
 * port, so it would add to the policy of the console.
 * LIMIT: no policy can name an IPv6 address, so a browser at `http://[::1]:3000` opens no socket to another port.
 */
export function relayAddress({ publicUrl, host = '', port, secure }: RelayParts): string | null {
  if (publicUrl !== undefined) return publicUrl;
  const [, name] = PLAIN_HOST.exec(host) ?? [];
  const address = `${secure ? 'wss' : 'ws'}://${name}:${port}`;
  return name !== undefined && URL.canParse(address) ? address : null;
}
