// Tells an app that knows one name of the service all else that it needs before a login.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AppError } from '../../errors.js';
import { Type } from '../../typebox.js';
import { readVersion } from '../../version.js';
import { answers } from '../schemas.js';
import { relayAddress, restAddress } from './addresses.js';

export interface DiscoveryOptions {
  readonly config: {
    readonly CONSOLE: 'on' | 'off';
    /** Unset: made of the Host header and the port of the relay. */
    readonly PUBLIC_WS_URL?: string;
    readonly REGISTRATION: 'open' | 'closed';
  };
  /** Port of the relay, once it listens. */
  readonly wsPort: () => number;
}

/** Of the WebSocket, as docs/protocol.md names it. */
const PROTOCOL = 1;

const Discovery = Type.Object(
  {
    rest_url: Type.String({ description: 'Address of the REST API, without a final slash.' }),
    ws_url: Type.String({ description: 'Address of the relay, without or with a final `/ws`.' }),
    console_url: Type.Union([Type.String(), Type.Null()], {
      description: 'Address of the web console. null: the operator has switched it off.',
    }),
    registration: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
      description: 'closed: the operator adds accounts.',
    }),
    setup_codes: Type.Literal(true, { description: 'POST /auth/setup takes setup codes.' }),
    protocol: Type.Literal(PROTOCOL, { description: 'Version of the WebSocket protocol.' }),
    version: Type.String({ description: 'Version of the service.' }),
  },
  {
    title: 'Discovery',
    description: 'Addresses of the service, and what an app asks before the login.',
    examples: [
      {
        rest_url: 'https://radio.example.net',
        ws_url: 'wss://radio.example.net',
        console_url: 'https://radio.example.net/console/',
        registration: 'closed',
        setup_codes: true,
        protocol: PROTOCOL,
        version: '0.1.0',
      },
    ],
  },
);

/** GET /.well-known/talkgroup-radio (RFC 8615). */
export const discoveryRoutes =
  ({ config, wsPort }: DiscoveryOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const discover = {
      config: { access: 'public' },
      schema: {
        operationId: 'discover',
        summary: 'Find the addresses of the service',
        description:
          'An app asks its user for one name and reads the rest here. The addresses have the name in the `Host` header, but for a relay with `PUBLIC_WS_URL`. A `Host` header that is more than a name with a port gets 400. Behind a proxy with TLS they have `https` only when `TRUST_PROXY` names it: an app that asked over `https` must not follow an address with `http`.',
        tags: ['discovery'],
        response: answers(Discovery),
      },
    } as const;

    app.get('/.well-known/talkgroup-radio', discover, async ({ headers: { host }, protocol }) => {
      const secure = protocol === 'https'; // of the connection, or as a trusted proxy says
      const { CONSOLE, PUBLIC_WS_URL: publicUrl, REGISTRATION: registration } = config;
      const rest_url = restAddress({ host, secure });
      const ws_url = relayAddress({ publicUrl, host, port: wsPort(), secure });
      if (rest_url === null || ws_url === null) throw new AppError('bad_request');
      const console_url = CONSOLE === 'off' ? null : `${rest_url}/console/`;
      return {
        rest_url,
        ws_url,
        console_url,
        registration,
        setup_codes: true,
        protocol: PROTOCOL,
        version: readVersion(),
      } as const;
    });
  };
