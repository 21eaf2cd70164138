// Finds the address of REST on this machine, and checks whether it answers.
//
// It does not import config/config.ts, which takes 0.35 s of CPU to load: the image's health check starts a process every 10 s.
import { isIPv6 } from 'node:net';

/** Defaults of HOST and PORT. */
export const REST_HOST = '127.0.0.1';
export const REST_PORT = 3000;

interface Address {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** The address of REST from the environment. null when config/config.ts would reject PORT. */
export function restAddress(): Address | null {
  const { HOST, PORT, TLS_CERT_FILE } = process.env;
  const port = PORT || String(REST_PORT);
  if (!/^\d+$/.test(port) || Number(port) > 65535) return null;
  return { host: reachable(HOST || REST_HOST), port: Number(port), secure: Boolean(TLS_CERT_FILE) };
}

/** A wildcard is an address to listen on, not one to connect to. */
function reachable(host: string): string {
  if (/^0+(\.0+){0,3}$/.test(host)) return '127.0.0.1';
  return isIPv6(host) && /^[0:]+$/.test(host) ? '::1' : host;
}

/** True when /healthz answers 200 within 2 s. */
export async function isAlive({ host, port, secure }: Address): Promise<boolean> {
  const { get } = secure ? await import('node:https') : await import('node:http');
  const options = {
    host,
    port,
    path: '/healthz',
    timeout: 2000,
    rejectUnauthorized: false, // a certificate for the public name
  };
  return new Promise((resolve) => {
    const request = get(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
    request.on('timeout', () => request.destroy());
  });
}
