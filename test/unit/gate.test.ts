// The concurrency limit before the database: turns between callers, shares of each, and bounds.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { deadlineIn } from '../../src/db/deadline.js';
import { createGate, type GateOptions } from '../../src/db/gate.js';

const settled = () => new Promise(setImmediate);

/** A gate whose calls have names, and stay inside until the test takes them out. */
function namedGate(options: GateOptions) {
  const gate = createGate(options);
  const entered: string[] = [];
  const inside: { readonly name: string; leave(): void }[] = [];
  const rejected: string[] = [];

  async function call(name: string, caller: { user?: string; address?: string }): Promise<void> {
    const deadline = deadlineIn(60_000, caller);
    try {
      await gate.enter(deadline);
    } catch (error) {
      rejected.push(`${name}: ${(error as { code: string }).code}`);
      return;
    }
    entered.push(name);
    inside.push({ name, leave: () => gate.leave(deadline) });
  }

  async function leaveOne(index = 0): Promise<void> {
    inside.splice(index, 1)[0]?.leave();
    await settled();
  }

  return {
    call,
    entered,
    rejected,
    inside,
    figures: gate.figures,
    leaveOne,
    /** Until no call is inside or waiting. */
    async leaveAll(): Promise<void> {
      while (inside.length > 0) await leaveOne();
    },
  };
}

t.test('a call of another user overtakes forty waiting calls of one user', async (t) => {
  const gate = namedGate({ places: 1, callsMax: 100 });
  for (let index = 0; index < 40; index++) void gate.call(`a${index}`, { user: 'a' });
  await settled();
  void gate.call('b0', { user: 'b' });
  void gate.call('b1', { user: 'b' });
  for (let left = 0; left < 5; left++) await gate.leaveOne();
  t.strictSame(gate.entered, ['a0', 'a1', 'b0', 'a2', 'b1', 'a3']);
  await gate.leaveAll();
  t.equal(gate.entered.length, 42, 'and every call is served in the end');
  t.strictSame(gate.figures(), { inside: 0, waiting: 0, refused: 0 });
});

t.test(
  'one caller holds no more than its share of the places, and the rest serve others at once',
  async (t) => {
    const share = { placesOfCaller: 2, callsOfCaller: 1, callsOfAddress: 1 };
    const gate = namedGate({ places: 10, callsMax: 100, share });
    for (let index = 0; index < 40; index++) void gate.call(`a${index}`, { user: 'a' });
    await settled();
    t.strictSame(gate.entered, ['a0', 'a1']);
    void gate.call('b', { user: 'b' });
    void gate.call('c', { address: '192.0.2.1' });
    for (let index = 0; index < 6; index++) void gate.call(`own${index}`, {});
    await settled();
    t.equal(gate.entered.length, 10, 'the service itself may take all that is free');
    await gate.leaveOne(2);
    t.equal(
      gate.entered.length,
      10,
      'a place that another leaves is not given to a caller with its full share',
    );
    await gate.leaveOne(0);
    t.equal(gate.entered.at(-1), 'a2');
    await gate.leaveAll();
  },
);

t.test('calls beyond the share of a user or an address are rejected as its own fault', async (t) => {
  const share = { placesOfCaller: 1, callsOfCaller: 0.25, callsOfAddress: 0.75 };
  const gate = namedGate({ places: 1, callsMax: 16, share });
  for (const user of ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'c', 'c', 'c', 'c', 'd'])
    void gate.call(user, { user, address: '192.0.2.1' });
  await settled();
  t.strictSame(gate.rejected, ['a: too_many_requests', 'd: too_many_requests']);
  for (const user of ['e', 'f', 'g', 'h', 'i']) void gate.call(user, { user, address: '192.0.2.2' });
  await settled();
  t.strictSame(gate.rejected.slice(2), ['i: database_unavailable'], 'and a full gate is nobody’s fault');
  await gate.leaveAll();
});

t.test('a call that gives up at its deadline leaves its place in the queue to others', async (t) => {
  const gate = createGate({ places: 1, callsMax: 2 });
  const first = deadlineIn(60_000, { user: 'a' });
  await gate.enter(first);
  await t.rejects(gate.enter(deadlineIn(1, { user: 'b' })), { code: 'database_unavailable' });
  t.strictSame(gate.figures(), { inside: 1, waiting: 0, refused: 1 });
  const next = gate.enter(deadlineIn(60_000, { user: 'c' }));
  gate.leave(first);
  await next;
  t.equal(gate.figures().inside, 1);
});

t.test(
  'whatever comes and goes: shares hold, no free place stays unused, and callers take turns',
  async () => {
    const users = ['a', 'b', 'c', 'd'];
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...users) },
      { weight: 2, arbitrary: fc.nat(9) }, // one of those inside leaves
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60 }),
        fc.integer({ min: 1, max: 10 }),
        async (steps, places) => {
          const most = Math.ceil(0.3 * places);
          const share = { placesOfCaller: most, callsOfCaller: 1, callsOfAddress: 1 };
          const gate = namedGate({ places, callsMax: 1000, share });
          const asked: string[] = [];
          const ofUser = (names: readonly string[], user: string) => names.filter((name) => name[0] === user);
          for (const [index, one] of steps.entries()) {
            if (typeof one === 'string') {
              asked.push(`${one}${index}`);
              void gate.call(`${one}${index}`, { user: one });
              await settled();
            } else if (gate.inside.length > 0) {
              await gate.leaveOne(one % gate.inside.length);
            }
            const inside = gate.inside.map(({ name }) => name);
            for (const user of users) {
              const held = ofUser(inside, user).length;
              const isWaiting = ofUser(asked, user).length > ofUser(gate.entered, user).length;
              assert(held <= most, `${user} holds ${held} of ${places}`);
              assert(
                !isWaiting || held === most || inside.length === places,
                `${user} waits beside a free place`,
              );
            }
          }
          // From here on no call comes: until a user is served again, no other is served twice.
          const from = gate.entered.length;
          await gate.leaveAll();
          assert.deepEqual([...gate.entered].sort(), [...asked].sort(), 'every call is served');
          for (const user of users)
            assert.deepEqual(ofUser(gate.entered, user), ofUser(asked, user), 'in its order');
          if (places > 1) return; // a share may then keep a user back
          const turns = gate.entered.slice(from).map((name) => name[0]);
          for (const [index, user] of turns.entries()) {
            const before = turns.slice(0, index).lastIndexOf(user);
            const between = turns.slice(before + 1, index);
            if (before >= 0) assert.equal(new Set(between).size, between.length, turns.join(''));
          }
        },
      ),
      { numRuns: 60 },
    );
  },
);
