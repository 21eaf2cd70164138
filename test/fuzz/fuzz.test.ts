// A small run of the generated bad input on every change, and that the run would see what it looks for.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { freshDatabase } from '../helpers/database/cluster.js';
import { type Route, routesOf } from './api.js';
import { fuzz } from './fuzz.js';
import { faultsOfAnswers, forgottenRoutes, fuzzRest } from './rest.js';
import type { Tally } from './tally.js';

const INPUTS = Number(process.env.PROVE_RUNS ?? 3000) / 3;

t.test(
  `${INPUTS} generated bad inputs break nothing, and innocent radios hear every frame meanwhile`,
  async (t) => {
    const report = await fuzz({
      inputs: INPUTS,
      seed: 1,
      databaseUrl: await freshDatabase(t),
      measuresMemory: false,
    });
    t.strictSame(report.failures, []);
    t.strictSame(report.faults, []);
    t.ok(report.rest.inputs + report.radios.inputs >= INPUTS);
    t.ok(report.frames.said > 0);
  },
);

const route: Route = {
  method: 'POST',
  path: '/things',
  parameters: [],
  query: [],
  body: { type: 'object', properties: { name: { type: 'string', minLength: 1 } }, required: ['name'] },
  answer: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  needsToken: true,
  hashes: false,
};

const scene = {
  admin: { id: '', token: 'a.b.c', device: null },
  plain: { id: '', token: 'd.e.f', device: null },
  leaver: { id: '', token: 'g.h.i', device: null },
  forged: ['f'],
  idOf: () => '00000000-0000-4000-8000-000000000000',
  replace: async () => {},
};

/** What a run says of a server that answers every request like this. */
async function saidOf(t: Test, answer: (response: ServerResponse, body: string) => void): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => answer(response, body));
    request.on('error', () => {}); // it was cut on purpose
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const { failures } = await fuzzRest({ port, routes: [route], scene, seed: 1, inputs: 60, lanes: 4 });
  return failures.map(({ why, input }) => `${why} ${input}`).join('\n');
}

function sends(response: ServerResponse, status: number, body: object, code = 'bad_request'): void {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': text.length, 'error-code': code };
  response.writeHead(status, headers).end(text);
}

t.test('what a server must not answer is found, and made small', async (t) => {
  const refusing = (body: object, status = 400) => saidOf(t, (response) => sends(response, status, body));
  t.match(await refusing({ error: 'x' }, 500), /no such answer is documented/);
  t.match(await refusing({ error: 'x' }, 503), /when to come back/);
  t.match(await refusing({ error: 'x', stack: 'y' }), /stack is not documented/);
  t.match(await refusing({ message: 'x' }), /error is missing/);
  for (const code of ['username_taken', 'no_such_code'])
    t.match(
      await saidOf(t, (response) => sends(response, 400, { error: 'x' }, code)),
      /its Error-Code is not of this status/,
    );
  t.match(await refusing({ ok: true, id: 1 }, 200), /id is not documented/);
  t.match(await refusing({ ok: true }, 200), /does not keep to the schema/);
  t.match(await saidOf(t, (response) => response.destroy()), /without an answer/);
  const odd = await saidOf(t, (response, body) =>
    sends(response, body.length > 2 ? 500 : 400, { error: 'x' }),
  );
  t.match(odd, /Content-Length: 3\\r\\n/, 'three bytes are the least that fail');
});

t.test('a route without input is not passed over', async (t) => {
  const answer = { content: { 'application/json': { schema: {} } } };
  const document = (path: string) => ({
    paths: { [path]: { get: { parameters: [{ name: 'id', in: 'path' }], responses: { 200: answer } } } },
  });
  t.match(routesOf(document('/devices/{id}')), [{ parameters: [{ named: 'device' }] }]);
  t.throws(() => routesOf(document('/things/{id}')), /add it/);
  const tally = { inputs: 0, seconds: 1, tables: new Map(), slowest: { ms: 0, what: '' } };
  t.strictSame(forgottenRoutes([route], tally), ['POST /things']);
});

t.test(
  'a run that was mostly turned away is no good, and one that some route refused throughout neither',
  async (t) => {
    const tally = (inputs: number, away: number, ok: readonly string[]): Tally => ({
      inputs,
      seconds: 1,
      tables: new Map([
        ['status', new Map([['503', away]])],
        ['answered 200', new Map(ok.map((name) => [name, 1]))],
      ]),
      slowest: { ms: 0, what: '' },
    });
    const login = { ...route, path: '/auth/login' };
    t.strictSame(faultsOfAnswers([route, login], tally(1000, 50, [])), [], 'too few to reach everything');
    t.strictSame(faultsOfAnswers([route, login], tally(1000, 51, [])), [
      '51 of 1000 REST inputs were answered 503',
    ]);
    t.strictSame(faultsOfAnswers([route, login], tally(100_000, 5000, ['POST /things'])), []);
    t.strictSame(faultsOfAnswers([route, login], tally(100_000, 5001, [])), [
      '5001 of 100000 REST inputs were answered 503',
      'never 200: POST /things',
    ]);
  },
);
