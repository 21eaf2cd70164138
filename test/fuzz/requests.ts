// Requests as no client should send them: each starts as the document says and then goes wrong in one way.
import fc from 'fast-check';
import { namedAs, type Parameter, RIGHT_VALUES, type Route } from './api.js';
import { damage, jsonNear, oddText, seldom } from './bad-values.js';
import { type BodyEncoding, bodyBytes, keepsTo, type Request } from './request-bytes.js';
import { EXPENDABLE } from './scene.js';
import { valuesOf } from './schema.js';

/** Requests of every route alike, and some of none. Every one is whole, so that it must be answered. */
export function requestsTo(routes: readonly Route[]): fc.Arbitrary<Request> {
  const ofRoutes = fc.oneof(...routes.map((route) => requestsToOne(route, routes)));
  return fc.oneof({ weight: 40, arbitrary: ofRoutes }, { weight: 1, arbitrary: strayRequest });
}

/** One request in a hundred that would be hashed is. The others miss a field. */
const HASHED_OF_100 = 1;

function requestsToOne(route: Route, routes: readonly Route[]): fc.Arbitrary<Request> {
  const right = rightRequest(route);
  const wrong = (kind: string, weight: number, change: fc.Arbitrary<Partial<Request>>) => ({
    weight,
    arbitrary: fc.tuple(right, change).map(([request, changed]) => ({ ...request, kind, ...changed })),
  });
  const takesIds = route.parameters.length + route.query.length > 0;
  const any = fc.oneof(
    { weight: 6, arbitrary: right },
    wrong('body', route.body === null ? 2 : 30, route.body === null ? surplusBody : bodyNear(route)),
    wrong(
      'damaged body',
      route.body === null ? 0 : 4,
      damage.map((damage) => ({ damage })),
    ),
    wrong('encoding', route.body === null ? 1 : 4, bodyEncoding),
    wrong('target', takesIds ? 14 : 4, targetNear(route)),
    wrong(
      'token',
      route.needsToken ? 12 : 2,
      badAuthorization.map((authorization) => ({ headers: headersFor(route, authorization) })),
    ),
    wrong(
      'headers',
      6,
      oddHeaders.map((more) => ({ headers: [...headersFor(route, 'Bearer <admin>'), ...more] })),
    ),
    wrong(
      'method',
      2,
      fc.constantFrom(...METHODS).map((method) => ({
        method,
        route: routes.find((one) => one.method === method && one.path === route.path) ?? null,
      })),
    ),
  );
  return route.hashes
    ? fc.tuple(any, fc.nat(99)).map(([one, luck]) => (luck < HASHED_OF_100 ? one : unhashed(one)))
    : any;
}

/** As documented, by a user who may. */
export function rightRequest(route: Route): fc.Arbitrary<Request> {
  return fc
    .tuple(
      rightTarget(route),
      fc.constantFrom('<admin>', '<admin>', '<admin>', '<plain>'),
      route.body === null ? fc.constant(null) : rightBody(route).map((body) => JSON.stringify(body)),
      seldom(8, fc.integer({ min: 1, max: 50 })),
    )
    .map(([target, who, body, chunkBytes]) => ({
      kind: 'as documented',
      route,
      method: route.method,
      target,
      headers: headersFor(route, `Bearer ${who}`),
      body,
      bodyEncoding: 'utf8',
      damage: null,
      chunkBytes,
    }));
}

function headersFor(route: Route, authorization: string): [string, string][] {
  const headers: [string, string][] = [];
  if (route.needsToken || authorization !== 'Bearer <admin>') headers.push(['Authorization', authorization]);
  if (route.body !== null) headers.push(['Content-Type', 'application/json']);
  return headers;
}

const ids = fc.nat(EXPENDABLE - 1);

function rightTarget({ path, parameters, query }: Route): fc.Arbitrary<string> {
  return fc
    .array(ids, { minLength: parameters.length + query.length, maxLength: parameters.length + query.length })
    .map((indexes) => {
      const right = [...parameters, ...query].map((parameter, at) => rightValue(parameter, indexes[at] ?? 0));
      return targetWith({ path, parameters, query }, right);
    });
}

function rightValue({ name, named }: Parameter, index: number): string {
  if (named === 'fixed') return RIGHT_VALUES[name] ?? '';
  return named === 'count' ? String(1 + index) : `<${named} ${index}>`;
}

/** The values of the parameters first, then of the query. */
function targetWith(
  { path, parameters, query }: Pick<Route, 'path' | 'parameters' | 'query'>,
  values: readonly string[],
) {
  const filled = parameters.reduce(
    (text, { name }, at) => text.replace(`{${name}}`, () => values[at] ?? ''),
    path,
  );
  const pairs = query.map(({ name }, at) => `${name}=${values[parameters.length + at]}`);
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}

/** As documented, with ids of what there is. */
function rightBody({ body }: Route): fc.Arbitrary<object> {
  const schema = body ?? {};
  const idFields = Object.keys(schema.properties ?? {}).filter((field) => field.endsWith('_id'));
  return fc.tuple(valuesOf(schema) as fc.Arbitrary<object>, ids).map(([value, index]) => ({
    ...value,
    ...Object.fromEntries(idFields.map((field) => [field, `<${namedAs(field)} ${index}>`])),
  }));
}

const bodyNear = (route: Route): fc.Arbitrary<Partial<Request>> =>
  jsonNear(route.body ?? {}, rightBody(route)).map(({ kind, value }) => ({
    kind: `body: ${kind}`,
    body: value,
  }));

const surplusBody: fc.Arbitrary<Partial<Request>> = fc.record({
  body: fc.oneof(fc.json(), oddText),
  headers: fc.constantFrom('application/json', 'text/plain').map((type): [string, string][] => [
    ['Authorization', 'Bearer <admin>'],
    ['Content-Type', type],
  ]),
});

/** The same fields less one: refused before anything is hashed. */
function unhashed(request: Request): Request {
  const { route } = request;
  const body = bodyBytes(request);
  if (route?.body == null || body === null || !keepsTo(route, body)) return request;
  const [first = ''] = route.body.required ?? [];
  // Of two that have a name, the last one counts.
  const text = new TextDecoder().decode(body).replace(/\}\s*$/, `,"${first}":0}`);
  return { ...request, body: text, bodyEncoding: 'utf8', damage: null };
}

/** What a header's value may hold: anything but control characters. */
const headerText = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => printable(Buffer.from(bytes).toString('latin1')));

const printable = (text: string) => text.replaceAll(/[^\x21-\x7e\x80-\xff]/g, '').trim();

const bodyEncoding: fc.Arbitrary<Partial<Request>> = fc.record({
  bodyEncoding: fc.constantFrom<BodyEncoding[]>('utf8', 'latin1', 'utf16le', 'utf8 with a mark'),
  headers: fc
    .tuple(
      fc.oneof(
        fc.constantFrom(
          'application/json',
          'application/json; charset=utf-16',
          'application/json; charset=latin1',
          'application/json;charset="utf-8"',
          'text/plain',
          'application/xml',
          'multipart/form-data; boundary=x',
          'application/x-www-form-urlencoded',
          'application/json, text/plain',
          'json',
          '/',
          ';',
          'application/',
          '*/*',
          'application/json;;;',
          'APPLICATION/JSON',
          `application/json; ${'x'.repeat(500)}`,
        ),
        headerText,
      ),
      fc.constantFrom('', 'identity', 'gzip', 'br', 'deflate, gzip', 'x'),
    )
    .map(([type, packing]): [string, string][] => [
      ['Authorization', 'Bearer <admin>'],
      ['Content-Type', type],
      ...(packing === '' ? [] : [['Content-Encoding', packing] as [string, string]]),
    ]),
});

function targetNear(route: Route): fc.Arbitrary<Partial<Request>> {
  const whole = [...route.parameters, ...route.query];
  const odd =
    whole.length === 0
      ? fc.constant(route.path)
      : fc.tuple(fc.tuple(...whole.map(oddId))).map(([values]) => targetWith(route, values));
  const more = fc
    .tuple(odd, oddQuery)
    .map(([target, query]) => target + (target.includes('?') ? '&' : '?') + query);
  const bent = fc
    .constantFrom('/', '//', '/.', '%2f', '%00', ';x', '.json', '%', '%zz', '%ff', '%E0%A4%A')
    .map((tail) => `${route.path.replace(/\{.*/, '<talkgroup 0>')}${tail}`);
  return fc.oneof(
    { weight: 6, arbitrary: odd.map((target) => ({ kind: 'target: id', target })) },
    { weight: 2, arbitrary: more.map((target) => ({ kind: 'target: query', target })) },
    { weight: 1, arbitrary: bent.map((target) => ({ kind: 'target: path', target, route: null })) },
  );
}

const oddId = (parameter: Parameter): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 2, arbitrary: ids.map((index) => rightValue(parameter, index)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('talkgroup', 'device', 'emergency', 'user', 'holder'), ids)
        .map(([other, index]) => `<${other} ${index}>`),
    },
    { weight: 2, arbitrary: fc.uuid({ version: [1, 4, 7] }) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        '0',
        '-1',
        'null',
        'undefined',
        'NaN',
        '00000000-0000-0000-0000-000000000000',
        'ffffffff-ffff-ffff-ffff-ffffffffffff',
        '{00000000-0000-0000-0000-000000000000}',
        '00000000000000000000000000000000',
        '%00',
        '<talkgroup 1>%00',
        '<device 1>%0a',
        '%20<device 2>',
        '%2f',
        '..%2f..',
        '%2e%2e',
        '%25',
        '%',
        '%zz',
        '%c0%af',
        '%ed%a0%80',
        '%u0041',
        ':id',
        '*',
        '{id}',
        '.',
        '__proto__',
        'constructor',
        'x'.repeat(200),
        'x'.repeat(9000),
        '%f0%9f%93%bb'.repeat(20),
        "'%20or%20'1'='1",
      ),
    },
    { weight: 2, arbitrary: oddText.map((text) => percentEncoded(text) || '%20') },
  );

function percentEncoded(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

const oddQuery = fc.oneof(
  fc.constantFrom(
    '',
    '&',
    '=',
    '=x',
    'x',
    'x=%',
    'x=%ff',
    'a[b]=1',
    '__proto__=1',
    '__proto__[role]=admin',
    'constructor=x',
    'talkgroup_id=',
    'talkgroup_id=<talkgroup 1>',
    'talkgroup_id[]=<talkgroup 1>',
    'talkgroup_id[id]=1',
    'talkgroup_id=%00',
    'x=1&'.repeat(1500),
    `x=${'y'.repeat(9000)}`,
  ),
  fc
    .tuple(fc.constantFrom('x', 'id', 'token', 'limit'), oddText)
    .map(([name, value]) => `${name}=${percentEncoded(value)}`),
);

/** `<forged 7>` is a token that admits no user. */
const badAuthorization: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.nat(200).map((index) => `Bearer <forged ${index}>`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '',
      'Bearer',
      'Bearer ',
      'Bearer  ',
      '<admin>',
      'Basic YWRtaW46eA==',
      'Bearer Bearer <admin>',
      'Bearer <admin> x',
      'Bearer "<admin>"',
      'Bearer <admin>,',
      'Digest <admin>',
      'Token <admin>',
      'Bearer\xa0<admin>',
      'Bearer null',
      'Bearer =',
      'Bearer ..',
      'Bearer a.b.c',
    ),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 60 }).map((text) => `Bearer ${printable(text)}x`) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.nat(9999), fc.integer({ min: 1, max: 25 }))
      .map(([at, by]) => `Bearer <bent ${at} ${by}>`),
  },
);

const headerName = fc
  .stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,30}$/)
  .filter((name) => !OUR_HEADERS.test(name));
/** Those that say where the request ends, or who asks. */
const OUR_HEADERS = /^(content-length|transfer-encoding|connection|expect|host|authorization|upgrade)$/i;

const oddHeaders: fc.Arbitrary<[string, string][]> = fc.oneof(
  fc.array(fc.tuple(headerName, headerText), { maxLength: 20 }),
  fc
    .integer({ min: 20, max: 3000 })
    .map((count) => Array.from({ length: count }, (_, n): [string, string] => [`x${n}`, 'y'])),
  fc.integer({ min: 100, max: 30_000 }).map((length): [string, string][] => [['Cookie', 'c'.repeat(length)]]),
  fc.subarray<[string, string]>(
    [
      ['Expect', '100-continue'],
      ['X-HTTP-Method-Override', 'DELETE'],
      ['X-Forwarded-For', '127.0.0.1, ::1, x'],
      ['X-Forwarded-Host', 'evil.example'],
      ['Forwarded', 'for=_x;host=y'],
      ['Accept', 'text/html;q=x'],
      ['Accept-Encoding', 'gzip;q=nan, br'],
      ['Origin', 'null'],
      ['Referer', 'javascript:1'],
      ['Range', 'bytes=0-0,5-1'],
      ['If-None-Match', '*'],
      ['If-Modified-Since', 'yesterday'],
      ['TE', 'trailers'],
      ['Connection', 'close'],
      ['__proto__', 'x'],
      ['constructor', 'x'],
      ['Content-Type', 'application/json'],
      ['Accept-Charset', '\xff'],
      ['Access-Control-Request-Method', 'PUT'],
    ],
    { minLength: 1 },
  ),
  fc.constantFrom<[string, string][][]>(
    [['Expect', 'a miracle']],
    [['Host', 'second.example']],
    [
      ['Upgrade', 'websocket'],
      ['Connection', 'Upgrade'],
    ],
    [
      ['Upgrade', 'h2c'],
      ['Connection', 'Upgrade, HTTP2-Settings'],
    ],
    [['Connection', 'close, keep-alive, x']],
    [['Keep-Alive', 'timeout=99999999999']],
  ),
);

const METHODS = [
  'HEAD',
  'OPTIONS',
  'PUT',
  'PATCH',
  'POST',
  'DELETE',
  'TRACE',
  'PROPFIND',
  'LOCK',
  'SEARCH',
  'PURGE',
  'M-SEARCH',
];

const strayRequest: fc.Arbitrary<Request> = fc
  .tuple(
    fc.constantFrom('GET', ...METHODS),
    fc.oneof(
      fc.constantFrom(
        '/',
        '//',
        '/*',
        '*',
        '/docs',
        '/docs/',
        '/docs/json',
        '/docs/static',
        '/docs/static/',
        '/docs/static/..%2f..%2fpackage.json',
        '/docs/static/%2e%2e/%2e%2e',
        '/docs/static/.hidden',
        '/docs/static/%00',
        '/console',
        '/console/',
        '/console/index.html',
        '/console/..%2f..%2fpackage.json',
        '/console/%2e%2e/%2e%2e',
        '/console/.hidden',
        '/console/%00',
        '/openapi.json',
        '/OpenAPI.json',
        '/ws',
        '/metrics',
        '/.env',
        '/admin',
        '/index.html',
        '/talkgroups/',
        '/Talkgroups',
        '/talkgroups//join',
        '/%74alkgroups',
        '/%',
        '/?',
        '/#',
        '/favicon.ico',
        '/emergencies/x',
        `/${'x'.repeat(9000)}`,
        'http://127.0.0.1/healthz',
        '/http://x',
      ),
      oddText.map((text) => `/${percentEncoded(text)}`),
    ),
  )
  .map(([method, target]) => ({
    kind: 'stray',
    route: null,
    method,
    target,
    headers: [['Authorization', 'Bearer <admin>']],
    body: null,
    bodyEncoding: 'utf8',
    damage: null,
    chunkBytes: null,
  }));
