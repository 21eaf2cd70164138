// Declares the limits of the REST API.
import { Type } from '../typebox.js';
import { MANY, settingsOf } from './setting.js';

const { whole } = settingsOf('REST limits');

export const restSettings = {
  REST_CONNECTIONS: Type.Optional(
    whole({
      level: 'tuning',
      unit: 'connections',
      minimum: 1,
      maximum: MANY,
      description: 'Connections to the REST port.',
      beyond: 'The service closes further connections without an answer.',
      notes:
        'One address may hold at most three quarters of them. Connections of the proxies in `TRUST_PROXY` are not counted by address.',
      unset: '10000, but at most a quarter of the open files beyond 200.',
    }),
  ),
  // 64 answers of 10,000 members are 100 MB while their client does not read them.
  REQUESTS_PER_USER: whole({
    level: 'tuning',
    unit: 'requests',
    minimum: 1,
    maximum: 100_000,
    default: 64,
    description: 'Requests of one user that are in progress at the same time.',
    beyond: 'The service answers 429 with `Retry-After`.',
  }),
  BODY_BYTES: whole({
    level: 'expert',
    unit: 'bytes',
    minimum: 8192,
    maximum: 1_048_576,
    default: 16_384,
    description: 'Largest body of a request.',
    beyond: 'The service answers 413.',
  }),
  URL_BYTES: whole({
    level: 'expert',
    unit: 'bytes',
    minimum: 1024,
    maximum: 65_536,
    default: 8192,
    description: 'Longest request target (path and query).',
    beyond: 'The service answers 414.',
  }),
  HEADER_BYTES: whole({
    level: 'expert',
    unit: 'bytes',
    minimum: 4096,
    maximum: 131_072,
    default: 16_384,
    description: 'Size of all headers together with the request target.',
    beyond: 'The service answers 431.',
  }),
  HEADERS_TIMEOUT_S: whole({
    level: 'expert',
    unit: 's',
    minimum: 1,
    maximum: 60,
    default: 5,
    description: 'Time limit for receiving the headers of a request.',
    beyond: 'The service answers 408 and closes the connection.',
    notes: 'It must be at most `REQUEST_TIMEOUT_S`.',
  }),
  REQUEST_TIMEOUT_S: whole({
    level: 'expert',
    unit: 's',
    minimum: 1,
    maximum: 60,
    default: 10,
    description: 'Time limit for receiving a whole request.',
    beyond: 'The service answers 408 and closes the connection.',
  }),
  ANSWER_TIMEOUT_S: whole({
    level: 'expert',
    unit: 's',
    minimum: 1,
    maximum: 600,
    default: 30,
    description: 'Time without progress while a client reads its answer.',
    beyond: 'The service closes the connection, at the latest after twice this time.',
    notes: 'Progress is what the operating system takes of the answer.',
  }),
};
