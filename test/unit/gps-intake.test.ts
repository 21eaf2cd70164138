// Positions gathered on their way to the database, which is answered by hand here.
import fc from 'fast-check';
import t from 'tap';
import { type Deadline, deadlineIn } from '../../src/db/deadline.js';
import { AppError } from '../../src/errors.js';
import { createFixIntake } from '../../src/gps/intake.js';
import type { DeviceId } from '../../src/ids.js';
import type { LatestFix, ReportedFix } from '../../src/protocol/fix.js';

interface Statement {
  readonly deadline: Deadline;
  readonly fixes: readonly ReportedFix[];
  /** Devices whose name begins with "no" do not exist. */
  commit(): void;
  fail(error: Error): void;
}

/** A database that answers when told to. */
function databaseByHand() {
  const sent: Statement[] = [];
  const latest: LatestFix[] = [];
  let tell = () => {};
  const storeFix = createFixIntake(
    (deadline, fixes) =>
      new Promise((resolve, reject) => {
        const existing = fixes.map(({ deviceId }) => deviceId).filter((id) => !id.startsWith('no'));
        sent.push({ deadline, fixes, commit: () => resolve(timesOf(existing)), fail: reject });
        tell();
      }),
    { gatherMs: 0, latest: (fixes) => latest.push(...fixes) },
  );
  return {
    report: (device: string, alt: number, ms = 60_000, more: { readonly atMs?: number } = {}) =>
      storeFix(deadlineIn(ms), { deviceId: device as DeviceId, lat: 0, lng: 0, alt, ...more }), // any text will do
    /** Told as the latest ones of their devices. */
    latest: latest as readonly LatestFix[],
    /** The next statement, when it has been sent. */
    async next(): Promise<Statement> {
      if (sent.length === 0)
        await new Promise<void>((resolve) => {
          tell = resolve;
        });
      const [first] = sent.splice(0, 1);
      if (first === undefined) throw new Error('nothing was sent');
      return first;
    },
    sent: sent as readonly Statement[],
  };
}

/** Of devices whose name begins with "old" a newer position is stored. */
const timesOf = (ids: readonly DeviceId[]) =>
  new Map(ids.map((id) => [id, id.startsWith('old') ? null : 1000]));

const altitudes = ({ fixes }: Statement) => fixes.map(({ deviceId, alt }) => [deviceId, alt]);

t.test('a fix that comes alone is sent at once', async (t) => {
  const { report, sent, next } = databaseByHand();
  const stored = report('a', 1);
  t.strictSame(sent.map(altitudes), [[['a', 1]]]);
  (await next()).commit();
  t.equal(await stored, true);
});

t.test('what comes while a statement is under way goes together in the next', async (t) => {
  const { report, next, sent } = databaseByHand();
  const first = report('a', 1);
  const others = [report('a', 2), report('no', 3), report('b', 4), report('a', 5)];
  t.equal(sent.length, 1, 'one statement at a time');
  (await next()).commit();
  t.equal(await first, true);
  const second = await next();
  t.strictSame(
    altitudes(second),
    [
      ['a', 5],
      ['no', 3],
      ['b', 4],
    ],
    'the last fix of each device',
  );
  second.commit();
  t.strictSame(await Promise.all(others), [true, false, true, true]);
});

t.test('of reports that wait together the newest by its own time is stored, and now is newest', async (t) => {
  const { report, next } = databaseByHand();
  const first = report('a', 1);
  const nowMs = Date.now();
  const others = [
    report('a', 2, 60_000, { atMs: nowMs - 1000 }),
    report('a', 3, 60_000, { atMs: nowMs - 2000 }),
    report('b', 4),
    report('b', 5, 60_000, { atMs: nowMs - 1000 }),
    report('c', 6, 60_000, { atMs: nowMs - 1000 }),
    report('c', 7),
  ];
  (await next()).commit();
  await first;
  const second = await next();
  t.strictSame(altitudes(second), [
    ['a', 2],
    ['b', 4],
    ['c', 7],
  ]);
  second.commit();
  t.ok((await Promise.all(others)).every((isStored) => isStored));
});

t.test(
  'only positions that are the latest of an existing device are told, with what it did not say',
  async (t) => {
    const { report, next, latest } = databaseByHand();
    const first = report('a', 1);
    (await next()).commit();
    await first;
    const others = [report('no', 2), report('old', 3), report('b', 4)];
    (await next()).commit();
    t.strictSame(await Promise.all(others), [false, true, true]);
    const none = { speed: null, course: null, accuracy: null, battery: null };
    t.strictSame(latest, [
      { deviceId: 'a', lat: 0, lng: 0, alt: 1, ...none, atMs: 1000 },
      { deviceId: 'b', lat: 0, lng: 0, alt: 4, ...none, atMs: 1000 },
    ]);
  },
);

t.test('a statement that fails refuses all its fixes alike, and the next is tried', async (t) => {
  const { report, next } = databaseByHand();
  const alone = report('a', 0);
  const refused = Promise.allSettled([report('a', 1), report('b', 2)]);
  (await next()).commit();
  await alone;
  const unknown = new AppError('outcome_unknown');
  (await next()).fail(unknown);
  t.strictSame(
    (await refused).map((one) => one.status === 'rejected' && one.reason),
    [unknown, unknown],
  );
  const stored = report('a', 3);
  (await next()).commit();
  t.equal(await stored, true);
});

t.test('a fix that no statement takes is refused alone, and those beside it are stored', async (t) => {
  const { report, next } = databaseByHand();
  const first = report('first', 0);
  const all = Promise.allSettled(['a', 'b', 'culprit', 'c', 'd'].map((device, i) => report(device, i)));
  (await next()).commit();
  await first;
  const fault = new Error('insert violates foreign key constraint');
  let isFound = false;
  let settled = false;
  void all.then(() => {
    settled = true;
  });
  while (!settled) {
    const statement = await next();
    const isGuilty = statement.fixes.some(({ deviceId }) => deviceId === 'culprit');
    if (isGuilty) statement.fail(fault);
    else statement.commit();
    isFound ||= isGuilty && statement.fixes.length === 1;
    await new Promise(setImmediate); // behind the answers
  }
  t.ok(isFound);
  t.strictSame(
    (await all).map((one) => (one.status === 'fulfilled' ? one.value : one.reason)),
    [true, true, fault, true, true],
  );
});

t.test('a caller that runs out of time is told whether the fix was sent', async (t) => {
  const { report, next, sent } = databaseByHand();
  const underWay = report('a', 1, 20);
  await t.rejects(report('b', 2, 10), { code: 'database_unavailable' }, 'surely not stored');
  await t.rejects(underWay, { code: 'outcome_unknown' });
  const last = report('c', 3);
  (await next()).commit();
  const second = await next();
  t.strictSame(altitudes(second), [['c', 3]], 'who gave up is not stored afterwards');
  second.commit();
  t.equal(await last, true);
  t.equal(sent.length, 0);
});

t.test('the statement has as long as the most patient of those who wait for it', async (t) => {
  const { report, next } = databaseByHand();
  const all = [report('a', 1), report('b', 2, 20_000), report('c', 3, 40_000), report('d', 4, 30_000)];
  (await next()).commit();
  const { deadline, commit } = await next();
  t.ok(deadline.at - performance.now() > 30_000);
  commit();
  await Promise.all(all);
});

t.test(
  'ten thousand may wait, and one more is refused at once, and those who wait are stored a thousand at a time',
  async (t) => {
    const { report, next } = databaseByHand();
    const all = [report('first', 0), ...Array.from({ length: 10_000 }, (_, i) => report(`d${i}`, i))];
    await t.rejects(report('late', 1), { code: 'database_unavailable' });
    (await next()).commit();
    for (let i = 0; i < 10; i++) {
      const statement = await next();
      t.equal(statement.fixes.length, 1_000);
      statement.commit();
    }
    t.ok((await Promise.all(all)).every((isStored) => isStored));
  },
);

t.test(
  'whatever comes in whatever order, each fix has the answer of a statement that stored it or a newer one',
  async (t) => {
    const report = fc.record({ device: fc.constantFrom('a', 'b', 'c', 'no') });
    const answer = fc.record({ commits: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(report, report, answer), { maxLength: 40 }), async (steps) => {
        const database = databaseByHand();
        const committed: Statement[] = [];
        const reports: { device: string; alt: number; outcome: Promise<unknown> }[] = [];
        let open = 0;
        const settle = async (commits: boolean) => {
          const statement = await database.next();
          if (commits) committed.push(statement);
          if (commits) statement.commit();
          else statement.fail(new AppError('outcome_unknown'));
          await new Promise(setImmediate); // behind the answers
        };
        for (const [alt, step] of steps.entries()) {
          if ('device' in step) {
            open++;
            const answered = database.report(step.device, alt).finally(() => open--);
            reports.push({ ...step, alt, outcome: answered.catch((error: AppError) => error.code) });
          } else if (open > 0) await settle(step.commits);
        }
        while (open > 0) await settle(true);
        for (const { device, alt, outcome } of reports) {
          const isIn = committed.some(({ fixes }) =>
            fixes.some((fix) => fix.deviceId === device && fix.alt >= alt),
          );
          const told = await outcome;
          if (told === true) t.ok(isIn && device !== 'no');
          else if (told === false) t.equal(device, 'no');
          else t.equal(told, 'outcome_unknown');
        }
        for (const device of ['a', 'b', 'c', 'no']) {
          const alts = committed.flatMap(({ fixes }) =>
            fixes.filter(({ deviceId }) => deviceId === device).map(({ alt }) => alt),
          );
          t.strictSame(
            alts,
            alts.toSorted((a, b) => a - b),
            'in the order in which they came',
          );
          t.equal(new Set(alts).size, alts.length, 'and each once');
        }
        t.equal(database.sent.length, 0);
      }),
      { numRuns: 100 },
    );
  },
);
