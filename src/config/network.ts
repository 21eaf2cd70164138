// Declares the settings of addresses, TLS and the database.

import { REST_HOST, REST_PORT } from '../listening.js';
import { Type } from '../typebox.js';
import { settingsOf } from './setting.js';

const network = settingsOf('Network and TLS');
const database = settingsOf('Database');

export const networkSettings = {
  HOST: network.text({
    level: 'basic',
    unit: 'address',
    default: REST_HOST,
    description: 'Address that REST and WebSocket listen on.',
    must: 'be an address of this machine',
    notes:
      'The image sets `0.0.0.0`. The start warns when other machines reach the address, and neither `TLS_CERT_FILE` nor `TRUST_PROXY` is set.',
  }),
  PORT: network.port({ default: REST_PORT, description: 'TCP port of REST.' }),
  WS_PORT: network.port({ default: 3001, description: 'TCP port of the WebSocket relay.' }),
  METRICS_HOST: network.text({
    level: 'basic',
    unit: 'address',
    default: '127.0.0.1',
    description: 'Address that `GET /metrics` listens on.',
    must: 'be an address of this machine',
    notes:
      'Metrics are plain HTTP without authentication. Do not expose this address to the internet. The image sets `0.0.0.0`.',
  }),
  METRICS_PORT: network.port({ default: 9464, description: 'TCP port of the metrics.' }),
  TLS_CERT_FILE: Type.Optional(
    network.text({
      level: 'basic',
      unit: 'path of a PEM file',
      description: 'File with the certificate chain of REST and WebSocket.',
      must: 'be the path of a PEM file',
      notes:
        'Set it together with `TLS_KEY_FILE`. The service looks at the content of both files once a minute.',
      unset:
        'REST and WebSocket use plain text. Use that only on loopback or behind a proxy that terminates TLS.',
    }),
  ),
  TLS_KEY_FILE: Type.Optional(
    network.text({
      level: 'basic',
      unit: 'path of a PEM file',
      description: 'File with the private key of `TLS_CERT_FILE`.',
      must: 'be the path of a PEM file',
      notes: 'Set it together with `TLS_CERT_FILE`.',
      unset: 'REST and WebSocket use plain text.',
    }),
  ),
  CORS_ORIGINS: Type.Optional(
    network.text({
      level: 'basic',
      unit: 'comma-separated origins',
      description: 'Web origins that may call REST and open sockets.',
      must: 'be a comma-separated list of origins such as https://radio.example',
      notes:
        'A WebSocket handshake with an origin that is not listed gets 403. One without an `Origin` header is accepted, and so is the page of the web console. An app in a native shell has an origin such as capacitor://localhost.',
      unset: 'REST allows no page of another origin. The WebSocket accepts every origin.',
    }),
  ),
  TRUST_PROXY: Type.Optional(
    network.text({
      level: 'basic',
      unit: 'comma-separated addresses or CIDR ranges',
      description: 'Proxies from which the service accepts `X-Forwarded-For` and `X-Forwarded-Proto`.',
      must: 'be a comma-separated list of IP addresses or CIDR ranges such as 10.0.0.0/8, each at least /1',
      notes: 'Each proxy must append the address of its client, without a port.',
      unset:
        '`X-Forwarded-For` is ignored. All clients behind a proxy then share its address and one set of per-address limits.',
    }),
  ),
};

export const databaseSettings = {
  DATABASE_URL: Type.Optional(
    database.text({
      level: 'basic',
      unit: 'URL',
      pattern: '^postgres(ql)?://',
      secret: true,
      description: 'URL of a PostgreSQL 15 or newer.',
      must: 'be a postgres:// URL of a database',
      notes:
        'The connection must be direct, not through a transaction pooler. The start warns when the database is on another machine and the URL has neither `sslmode` nor `ssl`.',
      unset: 'The service starts the embedded PostgreSQL in `DATA_DIR`.',
    }),
  ),
  DATA_DIR: database.text({
    level: 'basic',
    unit: 'path of a directory',
    default: '.data',
    description:
      'Directory of the embedded database, of the generated token key and of the socket of the command `reload`.',
    must: 'be the path of a directory',
    notes: 'The image sets `/data`.',
  }),
  DATABASE_POOL: database.whole({
    level: 'tuning',
    unit: 'connections',
    minimum: 1,
    maximum: 100,
    default: 10,
    description: 'Database connections of the REST API.',
    beyond: 'Further statements wait for a connection. When 576 statements run or wait, one more gets 503.',
    notes:
      'The relay uses 4 more connections when it has a thread of its own, or 3 for each of several threads. Change notifications use 1.',
  }),
};
