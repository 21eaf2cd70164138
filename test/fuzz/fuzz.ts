// One run: a service of its own, a scene, what was generated for REST and for the relay, and what became of it.
import { type Memory, readMemory } from '../../bench/machine/held-memory.js';
import { type Route, routesOf } from './api.js';
import { talkOn } from './innocents.js';
import type { Failure } from './lanes.js';
import { fuzzRadios, RADIO_LANES } from './radios.js';
import { faultsOfAnswers, forgottenRoutes, fuzzRest } from './rest.js';
import { type Scene, setScene } from './scene.js';
import { type Service, withService } from './service.js';
import type { Tally } from './tally.js';

export interface FuzzOptions {
  /** 60 of 100 are REST, the others WebSocket. */
  readonly inputs: number;
  readonly seed: number;
  /** An empty database. Without one the service brings its own. */
  readonly databaseUrl?: string | undefined;
  /** Compared after a forced collection, which takes some seconds. */
  readonly measuresMemory: boolean;
  /** `rest SEED PATH` or `radio SEED PATH`: one failure of before, alone. */
  readonly replay?: string | undefined;
  /** What goes on, for the reader who waits. */
  readonly says?: (text: string) => void;
}

export interface FuzzReport {
  readonly rest: Tally;
  readonly radios: Tally;
  readonly failures: readonly Failure[];
  /** Why the run as a whole is no good, one sentence each. */
  readonly faults: readonly string[];
  /** Frames the innocent radios said and heard. */
  readonly frames: { readonly said: number; readonly heard: number };
  readonly memory: { readonly before: Memory; readonly after: Memory } | null;
}

/** Until sessions that are kept for their return are gone, and the engine's time-outs with them. */
const SETTLE_MS = 3000;
const REST_SHARE = 0.6;
/** Before memory is first read: what is made once stays. */
const WARM_UP_INPUTS = 4000;
/** Back within so much. */
const MEMORY_RATIO_MAX = 1.1;

export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { result, faults } = await withService(options.databaseUrl, (service) =>
    fuzzService(options, service),
  );
  return { ...result, faults: [...result.faults, ...faults] };
}

async function fuzzService(options: FuzzOptions, service: Service): Promise<FuzzReport> {
  const { measuresMemory, replay, says = () => {} } = options;
  const { databaseUrl: url, secret, restUrl, wsUrl, inspectorUrl } = service;
  const scene = await setScene({ url, secret, radios: RADIO_LANES });
  const document = await fetch(`${restUrl}/openapi.json`);
  const routes = routesOf((await document.json()) as Parameters<typeof routesOf>[0]);
  const target = { service, scene, routes };
  const read = async () => {
    if (!measuresMemory) return null;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    return readMemory(inspectorUrl);
  };
  try {
    if (measuresMemory) {
      says(`warming up with ${WARM_UP_INPUTS} inputs`);
      await send({ ...options, inputs: WARM_UP_INPUTS, seed: 0 }, target);
    }
    const before = await read();
    const innocents = await talkOn(wsUrl, scene);
    const { rest, radios, failures } = await send(options, target);
    const { faults, frames } = await innocents.end();
    const isReady = await fetch(`${restUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false, // expected when it is gone
    );
    const after = isReady ? await read() : null;
    const memory = before === null || after === null ? null : { before, after };
    const forgotten = replay === undefined ? forgottenRoutes(routes, rest) : [];
    return {
      rest,
      radios,
      failures,
      frames,
      memory,
      faults: [
        ...faults,
        ...(isReady ? [] : ['the service is not ready any more']),
        ...forgotten.map((route) => `no input for ${route}`),
        ...(replay === undefined ? faultsOfAnswers(routes, rest) : []),
        ...(memory === null ? [] : faultsOfMemory(memory)),
      ],
    };
  } finally {
    await scene.end();
  }
}

interface Target {
  readonly service: Service;
  readonly scene: Scene;
  readonly routes: readonly Route[];
}

async function send(options: FuzzOptions, { service, scene, routes }: Target) {
  const { inputs, seed, replay, says = () => {} } = options;
  const [side = '', ...at] = replay?.split(' ') ?? [];
  const shared = (name: string, part: number) => ({
    scene,
    seed,
    inputs: replay === undefined ? Math.ceil(inputs * part) : 0,
    replay: side === name ? at.join(' ') : undefined,
  });
  const port = Number(new URL(service.restUrl).port);
  const rest = await fuzzRest({ ...shared('rest', REST_SHARE), port, routes });
  says(`${rest.tally.inputs} REST inputs in ${rest.tally.seconds.toFixed(1)} s`);
  const radios = await fuzzRadios({ ...shared('radio', 1 - REST_SHARE), url: service.wsUrl });
  says(`${radios.tally.inputs} WebSocket inputs in ${radios.tally.seconds.toFixed(1)} s`);
  return { rest: rest.tally, radios: radios.tally, failures: [...rest.failures, ...radios.failures] };
}

function faultsOfMemory({ before, after }: { before: Memory; after: Memory }): string[] {
  const pairs = [
    ['main', before.main, after.main],
    ['relay', before.relay, after.relay],
  ] as const;
  return pairs.flatMap(([thread, from, to]) => {
    const [was, is] = [from.heap + from.external, to.heap + to.external];
    return is <= was * MEMORY_RATIO_MAX ? [] : [`the ${thread} thread held ${was} bytes, and now ${is}`];
  });
}
