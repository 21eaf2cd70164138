// When a relay tells its home what its sessions have of a floor, and how much it tells when many press at once.

import t from 'tap';
import type { PartClaim } from '../../src/relay/shared-floor/bodies.js';
import { PartSender } from '../../src/relay/shared-floor/part-sender.js';

/** What the sender looks at. */
const claimOf = (session: number) =>
  ({ session, ask: session, state: 'asks', inEmergency: false, lostMs: null }) as unknown as PartClaim;

function setUp() {
  const claims: PartClaim[] = [];
  /** Of each part: its number, and how many claims it has. */
  const parts: { v: number; claims: number }[] = [];
  let v = 0;
  const sender: PartSender = new PartSender({
    nextV: () => ++v,
    claims: () => [...claims],
    send: (sent) => parts.push({ v: sender.v, claims: sent.length }),
  });
  return {
    sender,
    parts,
    press(session: number, nowMs: number): void {
      claims.push(claimOf(session));
      sender.changed(nowMs);
    },
  };
}

t.test('a press is told at once, and so are some that follow it', async (t) => {
  const { parts, press } = setUp();
  for (let session = 1; session <= 8; session++) press(session, 1000);
  t.same(
    parts.map(({ claims }) => claims),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
});

t.test('320 presses in one turn cost some parts and not 320, and each is answered', async (t) => {
  const { sender, parts, press } = setUp();
  for (let session = 1; session <= 320; session++) press(session, 1000 + session / 100);
  t.equal(parts.length, 14);
  sender.repeat(1010);
  t.equal(parts.length, 14, 'the others wait');
  // The home answers the last part: that answers those in it, and no other one.
  const answered = parts.at(-1)?.v ?? 0;
  sender.renew();
  t.ok(sender.isAnsweredBy(14, answered, 1015));
  t.notOk(sender.isAnsweredBy(15, answered, 1015));
  sender.repeat(1021);
  t.same(parts.at(-1), { v: sender.v, claims: 320 }, '20 ms later, together');
  t.equal(parts.length, 15);
  t.ok(sender.isAnsweredBy(320, sender.v, 1030));
  t.ok(sender.isWaiting, 'and repeated until it is answered');
});

t.test('320 presses within 200 ms cost a part each 20 ms', async (t) => {
  const { sender, parts, press } = setUp();
  for (let session = 1; session <= 320; session++) {
    const nowMs = 1000 + (200 * session) / 320;
    if (session % 16 === 0) sender.repeat(nowMs); // each 10 ms
    press(session, nowMs);
  }
  sender.repeat(1225);
  t.equal(parts.at(-1)?.claims, 320);
  t.ok(parts.length <= 40, `${parts.length} parts`);
  const claims = parts.reduce((sum, part) => sum + part.claims, 0);
  t.ok(claims < 3500, `${claims} claims`);
});

t.test('a new home is told at once, however much was told before', async (t) => {
  const { sender, parts, press } = setUp();
  for (let session = 1; session <= 20; session++) press(session, 1000);
  sender.restart(1001);
  t.equal(parts.at(-1)?.claims, 20);
});
