// The REST side of a run: sends what was generated and judges every answer by what the document promises.
import fc from 'fast-check';
import { refusalCodes } from '../../src/errors.js';
import { textOf } from '../../src/http/advice.js';
import type { Named, Route } from './api.js';
import { ANSWER_MS_MAX, type Answer, createHttpWire, type HttpWire, sendBytes } from './http-wire.js';
import { type Failure, type LanesOptions, replayLane, runLanes } from './lanes.js';
import { type RawInput, rawInputsTo } from './raw-inputs.js';
import { bodyBytes, bytesOf, keepsTo, type Request } from './request-bytes.js';
import { requestsTo } from './requests.js';
import type { RestScene } from './scene.js';
import { faultOf, type Schema } from './schema.js';
import { createTally, type Tally } from './tally.js';

export interface RestOptions {
  readonly port: number;
  readonly routes: readonly Route[];
  readonly scene: RestScene;
  readonly seed: number;
  readonly inputs: number;
  /** Connections, 12 when not given. */
  readonly lanes?: number;
  /** Seed and path of one failure, to be tried alone. */
  readonly replay?: string | undefined;
}

/** Each a connection. On two cores more only wait. */
const LANES = 12;
/** One in so many inputs goes around the parser, on a connection of its own. */
const RAW_ONE_IN = 12;

export async function fuzzRest(options: RestOptions): Promise<{ tally: Tally; failures: Failure[] }> {
  const { port, routes, scene, seed, inputs, lanes: count = LANES, replay } = options;
  const tally = createTally();
  const wires = Array.from({ length: count }, () => createHttpWire(port));
  const lanes: LanesOptions<Request | RawInput> = {
    name: 'rest',
    seed,
    lanes: count,
    inputs,
    generated: fc.oneof(
      { weight: RAW_ONE_IN - 1, arbitrary: requestsTo(routes) },
      { weight: 1, arbitrary: rawInputsTo(routes) },
    ),
    async tries(input, lane) {
      tally.input();
      tally.count('kind', input.kind);
      if ('surgery' in input) await tryRaw(input, { port, scene, tally });
      else await tryRequest(input, { wire: wires[lane] as HttpWire, scene, tally });
      return 1;
    },
    shows: (input) => `${fc.stringify(input)}\n${JSON.stringify(wholeOf(input, scene).toString('latin1'))}`,
  };
  try {
    const failures = replay === undefined ? await runLanes(lanes) : await replayLane(lanes, replay);
    return { tally: tally.sum(), failures };
  } finally {
    for (const wire of wires) wire.end();
  }
}

const wholeOf = (input: Request | RawInput, scene: RestScene) =>
  'surgery' in input ? input.surgery(bytesOf(input.base, scene)) : bytesOf(input, scene);

/** The documented routes that got no input. */
export function forgottenRoutes(routes: readonly Route[], { tables }: Tally): string[] {
  return routes.map(nameOf).filter((name) => !tables.get('route')?.has(name));
}

/** More 503s than this mean that the service was away, and that most of the others tried nothing. */
const AWAY_SHARE_MAX = 0.05;
/** From here on every route is answered as documented many times: the rarest 123 times in 600,000. */
const INPUTS_THAT_REACH_ALL = 100_000;

/** Why these answers say little of the service, one sentence each: it was away, or routes refused all they got. */
export function faultsOfAnswers(routes: readonly Route[], { inputs, tables }: Tally): string[] {
  const away = tables.get('status')?.get('503') ?? 0;
  const reached = tables.get('answered 200');
  const unreached = routes.map(nameOf).filter((name) => !reached?.has(name) && !NEVER_ANSWERED_200.has(name));
  return [
    ...(away > inputs * AWAY_SHARE_MAX ? [`${away} of ${inputs} REST inputs were answered 503`] : []),
    ...(inputs < INPUTS_THAT_REACH_ALL ? [] : unreached.map((name) => `never 200: ${name}`)),
  ];
}

/** Only the password of an account would do, and the callers of a scene are made without one. */
const NEVER_ANSWERED_200: ReadonlySet<string> = new Set(['POST /auth/login', 'POST /auth/changepassword']);

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

interface Trial {
  readonly scene: RestScene;
  readonly tally: ReturnType<typeof createTally>;
}

async function tryRequest(
  request: Request,
  { wire, scene, tally }: Trial & { wire: HttpWire },
): Promise<void> {
  const route = request.route === null ? 'none documented' : nameOf(request.route);
  tally.count('route', route);
  const bytes = bytesOf(request, scene);
  const askedAt = performance.now();
  const answer = await wire.ask(bytes, request.method === 'HEAD');
  const tookMs = performance.now() - askedAt;
  tally.took(tookMs, () => `${request.kind}, ${route}`);
  if (answer === null) throw new Error('the connection was closed without an answer');
  tally.count('status', String(answer.status));
  if (answer.status === 200) tally.count('answered 200', route);
  const fault =
    faultOfAnswer(request, answer, scene) ?? (tookMs > ANSWER_MS_MAX ? `it took ${tookMs} ms` : null);
  if (fault !== null) throw new Error(`${answer.status} ${answer.body.slice(0, 300)}: ${fault}`);
  if (answer.status === 200) await restore(request, scene);
}

async function tryRaw(input: RawInput, { port, scene, tally }: Trial & { port: number }): Promise<void> {
  const whole = wholeOf(input, scene);
  const askedAt = performance.now();
  const answers = await sendBytes(port, input.sliced ? [...whole].map((byte) => Buffer.of(byte)) : [whole]);
  tally.took(performance.now() - askedAt, () => input.kind);
  if (answers.length === 0) tally.count('status', 'closed');
  for (const answer of answers) {
    tally.count('status', String(answer.status));
    const fault = answer.status === 200 || isRedirect(answer) ? null : faultOfRefusal(answer);
    if (fault !== null) throw new Error(`${answer.status} ${answer.body.slice(0, 300)}: ${fault}`);
  }
}

/** What the contract has against this answer to this request, or null. */
function faultOfAnswer(request: Request, answer: Answer, scene: RestScene): string | null {
  const { route, method } = request;
  if (method === 'HEAD') return answer.status === 500 ? 'an internal error' : null;
  if (isRedirect(answer)) return route === null ? null : 'no redirect is documented';
  if (answer.status !== 200) return faultOfRefusal(answer);
  if (route === null) return mayBePage(request) ? null : 'nothing of the kind is documented';
  if (isForged(request) && route.needsToken) return 'nobody was to be admitted';
  if (!keepsTo(route, bodyBytes(request, scene))) return 'the body does not keep to the schema';
  return route.answer === null ? null : faultOfBody(route.answer, answer, true);
}

/** From / and /console to the page of the console. */
const isRedirect = ({ status, headers }: Answer) => status === 302 && headers.location === '/console/';

/** The console, the reference and its machine-readable form are served, and not documented in it. */
const mayBePage = ({ target, kind }: Request) =>
  (kind === 'stray' &&
    /^(\/docs|\/console\/|\/openapi\.json|\/%74alkgroups$|http:\/\/127\.0\.0\.1\/healthz)/.test(target)) ||
  kind === 'target: path';

const isForged = ({ kind }: Request) => kind === 'token';

const STATUSES = new Set([400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415, 417, 429, 431, 503]);
const LATER = new Set([429, 503]);
const FAILURE: Schema = {
  type: 'object',
  required: ['error'],
  properties: { error: { type: 'string', minLength: 1, maxLength: 300 } },
};

function faultOfRefusal(answer: Answer): string | null {
  if (!STATUSES.has(answer.status)) return 'no such answer is documented';
  if (LATER.has(answer.status) && !/^[1-9]\d*$/.test(answer.headers['retry-after'] ?? ''))
    return 'it does not say when to come back';
  const code = refusalCodes.find((one) => one === answer.headers['error-code']);
  if (code === undefined || textOf(code).status !== answer.status)
    return 'its Error-Code is not of this status';
  return faultOfBody(FAILURE, answer, true);
}

function faultOfBody(schema: Schema, { headers, body }: Answer, isStrict: boolean): string | null {
  if (!headers['content-type']?.startsWith('application/json')) return 'it is no JSON';
  try {
    return faultOf(schema, JSON.parse(body), isStrict);
  } catch {
    // Expected of a body that is no JSON: that is the fault.
    return 'it cannot be read as JSON';
  }
}

/** What was used up is made anew, so that the next input finds as much as this one. */
async function restore({ route, target }: Request, scene: RestScene): Promise<void> {
  const used = route === null ? undefined : USED_UP[nameOf(route)];
  const [, index] = /<\w+ (\d+)>/.exec(target) ?? [];
  if (used !== undefined && index !== undefined) await scene.replace(used, Number(index));
}

const USED_UP: Readonly<Record<string, Named>> = {
  'DELETE /talkgroups/{id}': 'talkgroup',
  'DELETE /recordings/{id}': 'recording',
  'DELETE /keys/holders/{id}': 'holder',
  'POST /emergencies/{id}/clear': 'emergency',
};
