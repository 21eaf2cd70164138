// Seals and opens frames with the primitives of browsers and of Node, in this process: what a frame costs.
import { browserPrimitives } from '../../../../src/client/encryption/browser-primitives.js';
import { createSealer } from '../../../../src/client/encryption/sealing.js';
import type { Primitives } from '../../../../src/protocol/encryption.js';
import { nodePrimitives } from '../../../../src/protocol/node-primitives.js';
import { deriveSframeKey, METADATA_BYTES } from '../../../../src/protocol/sframe.js';
import { type Quartiles, quartiles } from '../../../figures/figures.js';
import { nowMs } from '../../../machine/clock.js';
import { answer } from '../../player.js';

export interface SealingTask {
  readonly payloadBytes: number;
  readonly batches: number;
  readonly framesPerBatch: number;
}

/** Microseconds a frame, over batches. */
export interface SealingCost {
  readonly sealUs: Quartiles;
  readonly openUs: Quartiles;
}

export interface SealingCosts {
  readonly browser: SealingCost;
  readonly node: SealingCost;
}

answer(play);

async function play(task: SealingTask): Promise<SealingCosts> {
  return { browser: costOf(browserPrimitives, task), node: costOf(nodePrimitives, task) };
}

function costOf(primitives: Primitives, { payloadBytes, batches, framesPerBatch }: SealingTask): SealingCost {
  const key = { baseKey: primitives.randomBytes(32), keyId: 1 };
  const sealer = createSealer(primitives, key);
  const opener = deriveSframeKey(primitives, key);
  const metadata = new Uint8Array(METADATA_BYTES);
  const payload = primitives.randomBytes(payloadBytes);
  const frames = Array.from({ length: framesPerBatch }, (_, i) => i);
  const seals: number[] = [];
  const opens: number[] = [];
  const usOf = (ms: number) => (1000 * ms) / framesPerBatch;
  // The first two batches compile.
  for (let batch = -2; batch < batches; batch++) {
    const startMs = nowMs();
    const sealed = frames.map(() => sealer.seal(sealer.next, metadata, payload));
    const sealedMs = nowMs();
    const opened = sealed.filter((frame) => opener.open(metadata, frame) !== null).length;
    const openedMs = nowMs();
    if (opened !== framesPerBatch) throw new Error('a frame did not open');
    if (batch < 0) continue;
    seals.push(usOf(sealedMs - startMs));
    opens.push(usOf(openedMs - sealedMs));
  }
  return { sealUs: quartiles(seals), openUs: quartiles(opens) };
}
