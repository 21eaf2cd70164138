// Decides which web origins may open sockets.

/** The origins that may open sockets. */
export interface Origins {
  /** null: any. */
  readonly listed: readonly string[] | null;
  /** Port of REST, which serves the web console. 0: any port. null: REST serves no console. */
  readonly consolePort: number | null;
}

/** Whether a handshake with these headers may open a socket. Native apps send no Origin: theirs may. */
export function mayOpen(
  { origin, host }: { origin: string; host: string },
  { listed, consolePort }: Origins,
): boolean {
  if (listed === null || origin === '' || listed.includes(origin)) return true;
  return consolePort !== null && isConsole({ origin, host, consolePort });
}

/**
 * The page of the console comes from the name that the browser also connects to here: at the port of REST, or, behind a
 * proxy, at one address for both.
 */
function isConsole({
  origin,
  host,
  consolePort,
}: {
  origin: string;
  host: string;
  consolePort: number;
}): boolean {
  const page = readUrl(origin);
  if (page?.origin !== origin || !(page.protocol in DEFAULT_PORTS)) return false;
  const here = readUrl(`${page.protocol}//${host}`);
  if (here?.hostname !== page.hostname) return false;
  const port = Number(page.port || DEFAULT_PORTS[page.protocol]);
  return here.origin === origin || consolePort === 0 || port === consolePort;
}

const readUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
