// Writes the OpenAPI document without its operations: what it says of the whole API.
import { readVersion } from '../version.js';

const DESCRIPTION = `Accounts, talkgroups, devices, positions and emergencies. Audio travels over the WebSocket relay, which has its own port and protocol.

- Bodies are JSON in UTF-8. Every success has status 200. Every failure has a body \`{"error": "..."}\`.
- The service checks a request in this order: path and method (404, 405), token (401), role (403), body and parameters (400), ids (404).
- An unknown field is ignored. \`null\` for an optional field counts as absent. Types are not converted.
- Ids are UUIDs. A malformed id in a path or a body names nothing and gets 404.
- Times are ISO 8601 in UTC.
- An empty \`after\` is 400 and not the first page: a client that lost its place would otherwise begin again unnoticed.
- The service answers each request within 5 s, if the client reads the answer.`;

/** The document without operations. */
export const preamble = {
  openapi: '3.1.0',
  info: {
    title: 'Talkgroup Radio Service',
    version: readVersion(),
    description: DESCRIPTION,
    license: { name: 'No licence chosen yet', identifier: 'LicenseRef-UNLICENSED' },
  },
  servers: [
    { url: '/', description: 'The server that serves this document.' },
    {
      url: 'http://127.0.0.1:3000',
      description: 'A server started with `make run` and the default settings.',
    },
    {
      url: 'https://{host}',
      description: 'A server behind a proxy, or with TLS of its own.',
      variables: { host: { default: 'radio.example.net', description: 'Host name, with a port if needed.' } },
    },
  ],
  security: [{ token: [] }],
  tags: [
    { name: 'auth', description: 'Accounts: register, log in, change a password, log out everywhere.' },
    { name: 'users', description: 'The accounts, for dispatchers and administrators.' },
    { name: 'audit', description: 'The acts of administrators and commands.' },
    { name: 'talkgroups', description: 'Talkgroups and their members.' },
    { name: 'devices', description: 'Devices, and the caller with its device.' },
    { name: 'gps', description: 'Positions of devices.' },
    { name: 'keys', description: 'Rotation counters, from which clients derive keys.' },
    { name: 'emergencies', description: 'Open emergencies.' },
    { name: 'recordings', description: 'Recorded speech of talkgroups.' },
    { name: 'discovery', description: 'Addresses and versions, before the login.' },
    { name: 'console', description: 'The web console.' },
    { name: 'health', description: 'For supervisors and load balancers.' },
  ],
  components: {
    securitySchemes: {
      token: {
        type: 'http' as const,
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'The `jwt` from `POST /auth/register` or `POST /auth/login`. It does not expire.',
      },
    },
  },
};
