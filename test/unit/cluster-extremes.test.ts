// Messages about floors that are readable and extreme: every field at a bound of its schema, in any combination.

import t from 'tap';
import { TURN_COUNT_MAX } from '../../src/protocol/turn.js';
import { readBody } from '../../src/relay/cluster/bodies.js';
import { bodyOf } from '../../src/relay/nodes/body.js';
import { EVERY_RELAY, relaySubject } from '../../src/relay/nodes/bus.js';
import { HeaderWriter, kinds, wholeMs } from '../../src/relay/nodes/header.js';
import { PartBody, VerdictsBody, WantBody } from '../../src/relay/shared-floor/bodies.js';
import type { TSchema } from '../../src/typebox.js';
import { createRandom, type Random } from '../helpers/cluster/world.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  DATABASE,
  directory,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
  userIdOf,
} from '../helpers/relay/relays.js';

const MESSAGES = 2000;

/** What a schema says as JSON Schema. */
interface Said {
  readonly anyOf?: readonly Said[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Said>>;
  readonly required?: readonly string[];
  readonly items?: Said;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A value that the schema allows. */
function extremeOf(said: Said, random: Random): unknown {
  if (said.anyOf !== undefined) return extremeOf(random.pick(said.anyOf), random);
  if (said.enum !== undefined) return random.pick(said.enum);
  if ('const' in said) return said.const;
  switch (said.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(said.properties ?? {})
          .filter(([name]) => said.required?.includes(name) || random.chance(0.5))
          .map(([name, of]) => [name, extremeOf(of, random)]),
      );
    case 'array':
      return Array.from({ length: random.below(4) }, () => extremeOf(said.items ?? {}, random));
    case 'integer':
    case 'number': {
      const { minimum: least = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = said;
      // Behind the last count of a turn the relays themselves have none that they can tell (protocol/turn.ts).
      const most = maximum === TURN_COUNT_MAX ? maximum - MESSAGES : maximum;
      return random.pick([least, most, Math.max(least, 0), Math.min(most, Math.max(least, 1))]);
    }
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    default:
      return userIdOf(1, random.below(3)); // the only texts are ids
  }
}

const schemas: readonly (readonly ['part' | 'verdicts' | 'want', TSchema])[] = [
  ['part', PartBody],
  ['verdicts', VerdictsBody],
  ['want', WantBody],
];

for (const mode of ['single', 'broadcast'] as const)
  t.test(`a relay goes on after extreme messages about its floors: ${mode}`, async (t) => {
    const network = createMemoryNetwork();
    const reads = directory(mode);
    // An error that a relay logs fails the test.
    const [a, b] = [relayOn(t, network, { number: 1, reads }), relayOn(t, network, { number: 2, reads })];
    const [peer, writer] = [network.join(), new HeaderWriter(7, DATABASE)];
    let seq = 0;
    const beacon = () => {
      const nowMs = wholeMs(performance.now());
      const heard = [1, 2].map((relay) => [relay, nowMs, 0]);
      peer.publish(EVERY_RELAY, writer.write(kinds.beacon, 0, 5, 0), bodyOf({ encrypts: true, heard }));
    };
    const beating = setInterval(beacon, 100);
    t.teardown(() => clearInterval(beating));
    beacon();
    await eventually(() => {
      for (const relay of [a, b]) if (relay.figures()?.peers !== 2) throw new Error('not reached');
    });
    const [ann, bob] = [await a.radio(), await b.radio()];
    await sharing(2, a, b);
    const ignored = () =>
      [a, b].reduce((sum, relay) => {
        const counts = relay.figures()?.counts;
        if (counts === undefined) throw new Error('not in a cluster');
        return sum + counts.unreadable + counts.strange + counts.overtaken + counts.otherDatabase;
      }, 0);
    const before = ignored();
    const random = createRandom(7);
    let readable = 0;
    for (let message = 0; message < MESSAGES; message++) {
      const [kind, schema] = random.pick(schemas);
      const given = {
        ...(extremeOf(schema as Said, random) as object),
        number: random.pick([1, 1, 1, 2, 99]),
      };
      if (readBody(kind, bodyOf(given)) !== null) readable++;
      peer.publish(relaySubject(1 + random.below(2)), writer.write(kinds[kind], ++seq, 5, 0), bodyOf(given));
      if (message % 50 === 0) await settled();
      if (message % 200 === 0)
        for (const radio of [ann, bob]) radio.speaks('meanwhile', { start: true, end: true });
    }
    await settled();
    t.ok(readable > MESSAGES / 2, `${readable} of ${MESSAGES} are readable`);
    t.equal(ignored() - before, MESSAGES - readable, 'each readable one is taken');
    clearInterval(beating);
    peer.publish(EVERY_RELAY, writer.write(kinds.leave, 0, 5, 0), new Uint8Array(0));
    await eventually(() => {
      for (const relay of [a, b]) if (relay.figures()?.peers !== 1) throw new Error('still there');
    });
    // A new radio on each relay: those above may be muted.
    const cid = await a.radio();
    const asked = { type: 'FLOOR_REQUEST', talkgroup_id: talkgroupIdOf(1), ref: 'after' };
    const isAnswer = ({ ref }: Record<string, unknown>) => ref === 'after';
    cid.says(asked);
    await eventually(() => {
      if (!cid.messages.some(isAnswer)) throw new Error('not answered');
    });
  });
