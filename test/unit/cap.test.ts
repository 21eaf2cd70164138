// The cap on connections, by any order of connections that come and go.
import fc from 'fast-check';
import t from 'tap';
import { createCap, REFUSED_AT_ONCE_MAX } from '../../src/relay/websocket/cap.js';

const FREE = 10;
const MAX = 40;
const DESCRIPTORS_BELOW = 100;

t.test('connections stay below the cap plus those being refused, whatever comes and goes', (t) => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 500 }), (comings) => {
      const cap = createCap({
        connectionsMax: MAX,
        descriptorMax: DESCRIPTORS_BELOW,
        nextDescriptor: () => FREE,
        log: { error() {} },
      });
      let inside = 0;
      let closed = 0;
      for (const comes of comings) {
        if (!comes && inside > 0) {
          inside--;
          cap.leaves();
        }
        if (comes && cap.enters()) inside++;
        else if (comes) {
          closed++;
          cap.leaves(); // the engine says so while it closes it
        }
        if (inside > MAX + REFUSED_AT_ONCE_MAX) return false;
        if (cap.isOver() !== inside > MAX || cap.isFull() !== inside >= MAX) return false;
      }
      const { open, dropped, max } = cap.figures();
      return open === inside && dropped === closed && max === MAX;
    }),
  );
  t.end();
});

t.test('without a descriptor to spare connections are closed, and let in once there is one again', (t) => {
  const logged: object[] = [];
  let next = FREE;
  const cap = createCap({
    connectionsMax: 1000,
    descriptorMax: DESCRIPTORS_BELOW,
    nextDescriptor: () => next,
    log: { error: (fields) => logged.push(fields) },
  });
  const enter = () => {
    const isIn = cap.enters();
    if (!isIn) cap.leaves();
    return isIn;
  };
  next = DESCRIPTORS_BELOW;
  const outcomes = Array.from({ length: 32 }, enter);
  const first = outcomes.indexOf(false);
  t.ok(first < 16, `noticed by connection ${first + 1}`);
  t.notOk(outcomes.slice(first).includes(true), 'and by all behind it');
  t.equal(cap.isFull(), true);
  t.equal(cap.isOver(), false);
  t.match(logged, [{ connections: first + 1, hasDescriptors: false }], 'logged once');
  next = FREE;
  t.equal(cap.isFull(), false, 'though no connection came since');
  t.equal(enter(), true);
  t.end();
});
