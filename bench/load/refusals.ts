// Says which setting or fault is behind a connection that a service refused.
import type { ConnectionLost } from '../radios/raw-radio.js';

/** By close code and reason, as docs/protocol.md has them. The settings are those of docs/configuration.md. */
const ADVICE: Readonly<Record<string, string>> = {
  '1008 invalid token':
    'the token is of another key, or was revoked. `talkgroup-radio token` prints another one',
  '1008 unknown user': 'the user of the token does not exist any more',
  '1008 device disabled': 'the device of the user is disabled',
  '1012 restart': 'the service is shutting down',
  '1013 overloaded': 'SOCKETS_MAX connections are open, or the service starts, or its database is slow',
  '1013 rate_limited':
    'a user may open 64 connections at once, or twice SOCKETS_PER_USER, then 5 a second. Use more tokens, or wait some seconds',
  '1013 replaced': 'a user may have SOCKETS_PER_USER sockets at once (default 32). Use more tokens',
};

/** By the number of an HTTP status. */
const ANSWERS: Readonly<Record<string, string>> = {
  403: 'CORS_ORIGINS, or a rule of the proxy',
  404: 'URL leads to no relay: the proxy must lead /ws to WS_PORT',
  426: 'the proxy must pass on Upgrade and Connection',
  429: 'a limit of the proxy',
  431: 'the proxy adds more headers than the relay reads, see UWS_HTTP_MAX_HEADERS_SIZE',
  502: 'the proxy reaches no relay',
  503: 'the proxy reaches no relay, or has a limit of its own',
  504: 'the relay did not answer the proxy in time',
};

/** What happened, then what it means where that is known. */
export function refusalOf({ code, reason, message }: ConnectionLost): string {
  if (code !== null) return withAdvice(message, ADVICE[`${code} ${reason}`]);
  const [, status = ''] = /^HTTP\/\S+ (\d{3})/.exec(reason) ?? [];
  if (status !== '') return withAdvice(message, ANSWERS[status]);
  if (/certificate|self-signed|altname/i.test(message))
    return `${message}: NODE_EXTRA_CA_CERTS=FILE adds a certificate authority of your own`;
  if (/dropped a connection/.test(message))
    return `${message}: 32 more than SOCKETS_MAX are open, or a limit of the proxy`;
  if (/EMFILE/.test(message)) return `${message}: this machine opens no more files, see ulimit -n`;
  return message;
}

const withAdvice = (what: string, advice: string | undefined): string =>
  advice === undefined ? what : `${what}: ${advice}`;

/** Short, to count by. */
export const nameOf = ({ code, reason, message }: ConnectionLost): string =>
  code === null ? reason || message : `${code} ${reason}`;
