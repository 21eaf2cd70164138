// What every bus promises: the tests of one, of whatever carries its messages.
import type { Test } from 'tap';
import { type Bus, MESSAGE_BYTES_MAX, type Subject, talkgroupSubject } from '../../../src/relay/nodes/bus.js';
import { TURN_BYTES_MAX } from '../../../src/relay/nodes/carriers/outbox.js';
import { comesTrue } from '../eventually.js';

export interface Link {
  readonly bus: Bus;
  cut(): void;
  mend(): void | Promise<void>;
}

/** Makes a network for one test. The answer joins it. */
export type Carrier = (t: Test) => Promise<() => Promise<Link>>;

export const SUBJECT = talkgroupSubject(7);
const OTHER = talkgroupSubject(8);
const NOTHING = new Uint8Array(0);

const say = (bus: Bus, text: string, subject: Subject = SUBJECT) =>
  bus.publish(subject, Buffer.from(text), NOTHING);

/** The texts received on the subject, in order. */
function hear(bus: Bus, subject: Subject = SUBJECT): string[] {
  const heard: string[] = [];
  bus.subscribe(subject, (bytes) => heard.push(Buffer.from(bytes).toString()));
  return heard;
}

/** A subscription takes a moment to reach the others: asks until this pair of buses has one. */
async function joined(from: Bus, to: Bus): Promise<void> {
  const subject = 'joined' as Subject;
  let isHeard = false;
  const stop = to.subscribe(subject, () => {
    isHeard = true;
  });
  await comesTrue('heard', () => {
    say(from, '?', subject);
    return isHeard;
  });
  stop();
}

/** Everything said before has arrived. */
async function settled(from: Bus, to: Bus): Promise<void> {
  await joined(from, to);
}

export interface BusContract {
  readonly name: string;
  readonly carrier: Carrier;
  /** Why its tests are left out. */
  readonly skip?: string | false;
  /** It can be away. */
  readonly isNetwork: boolean;
}

export function testBus(root: Test, { name, carrier, skip = false, isNetwork }: BusContract): void {
  const promise = (title: string, test: (t: Test, join: () => Promise<Link>) => Promise<void>) =>
    root.test(`${name}: ${title}`, { skip }, async (t) => test(t, await carrier(t)));

  promise(
    'messages of one relay about one subject arrive in order at every other, never at itself',
    async (t, join) => {
      const [a, b, c] = await Promise.all([join(), join(), join()]);
      const heard = [a, b, c].map(({ bus }) => hear(bus));
      for (const { bus } of [b, c]) await joined(a.bus, bus);
      const said: string[] = [];
      for (let turn = 0; turn < 50; turn++) {
        for (let each = 0; each < 20; each++) {
          const text = `${turn}.${each}`;
          said.push(text);
          t.ok(say(a.bus, text));
          say(b.bus, `b${text}`);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      const of = (texts: readonly string[] | undefined, isOfB: boolean) =>
        texts?.filter((text) => text.startsWith('b') === isOfB);
      await comesTrue('all of them', () => heard[2]?.length === 2000 && heard[1]?.length === 1000);
      t.strictSame(heard[1], said);
      t.strictSame(of(heard[2], false), said);
      t.strictSame(
        of(heard[2], true),
        said.map((text) => `b${text}`),
      );
      t.strictSame(
        heard[0],
        said.map((text) => `b${text}`),
      );
    },
  );

  promise('a relay hears only what it subscribes to, and nothing after it ended that', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const heard: string[] = [];
    const stop = b.bus.subscribe(SUBJECT, (bytes) => heard.push(Buffer.from(bytes).toString()));
    await joined(a.bus, b.bus);
    say(a.bus, 'one');
    say(a.bus, 'other', OTHER);
    await settled(a.bus, b.bus);
    stop();
    say(a.bus, 'two');
    await settled(a.bus, b.bus);
    t.strictSame(heard, ['one']);
  });

  promise('head and body arrive as one message, and the caller may change both at once', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const heard: Buffer[] = [];
    b.bus.subscribe(SUBJECT, (bytes) => heard.push(Buffer.from(bytes)));
    await joined(a.bus, b.bus);
    const head = Buffer.from('head');
    const body = new Uint8Array([1, 2, 3]).buffer;
    a.bus.publish(SUBJECT, head, body);
    head.fill(0);
    new Uint8Array(body).fill(0);
    const sizes = [0, 1, 1000, 70_000, MESSAGE_BYTES_MAX];
    for (const size of sizes) a.bus.publish(SUBJECT, NOTHING, Buffer.alloc(size, size % 251));
    await comesTrue('all of them', () => heard.length === 1 + sizes.length);
    t.equal(heard[0]?.toString('latin1'), 'head\x01\x02\x03');
    for (const [index, size] of sizes.entries())
      t.ok(heard[index + 1]?.equals(Buffer.alloc(size, size % 251)), `${size} bytes`);
    t.throws(() => a.bus.publish(SUBJECT, head, Buffer.alloc(MESSAGE_BYTES_MAX)), /too long/);
  });

  promise('messages of one turn of the loop leave together', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const heard = hear(b.bus);
    await joined(a.bus, b.bus);
    const { flushes } = a.bus.counts;
    for (let each = 0; each < 500; each++) say(a.bus, `${each}`);
    t.equal(a.bus.counts.flushes, flushes);
    await comesTrue('all of them', () => heard.length === 500);
    t.equal(a.bus.counts.flushes, flushes + 1);
  });

  promise('what is too much for a turn is refused, and the rest arrives', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    let heard = 0;
    b.bus.subscribe(SUBJECT, () => heard++);
    await joined(a.bus, b.bus);
    const bytes = Buffer.alloc(100_000);
    let taken = 0;
    while (a.bus.publish(SUBJECT, NOTHING, bytes)) taken++;
    t.ok(taken * bytes.length <= TURN_BYTES_MAX && taken > 10);
    t.equal(a.bus.counts.dropped.backlog, 1);
    await comesTrue('what was taken', () => heard === taken);
  });

  promise('ten thousand subjects of a relay are told apart', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const heard: number[] = [];
    for (let each = 0; each < 10_000; each++) b.bus.subscribe(talkgroupSubject(each), () => heard.push(each));
    await joined(a.bus, b.bus);
    for (let each = 0; each < 10_000; each += 7) say(a.bus, '', talkgroupSubject(each));
    await comesTrue('all of them', () => heard.length === Math.ceil(10_000 / 7));
    t.ok(heard.every((each, index) => each === index * 7));
  });

  const promiseOfNetwork = (...given: Parameters<typeof promise>) => {
    if (isNetwork) promise(...given);
  };

  promiseOfNetwork(
    'a bus says that it is down, refuses what is said then, and says nothing of it later',
    async (t, join) => {
      const [a, b] = await Promise.all([join(), join()]);
      const heard = hear(b.bus);
      await joined(a.bus, b.bus);
      const states: boolean[] = [];
      a.bus.onChange((isUp) => states.push(isUp));
      a.cut();
      await comesTrue('down', () => !a.bus.isUp);
      t.notOk(say(a.bus, 'old'));
      await new Promise((resolve) => setTimeout(resolve, 50));
      t.notOk(say(a.bus, 'older'));
      t.equal(a.bus.counts.dropped.down, 2);
      await a.mend();
      await comesTrue('up again', () => a.bus.isUp);
      t.strictSame(states, [false, true]);
      t.ok(say(a.bus, 'new'));
      await comesTrue('heard', () => heard.length > 0);
      await settled(a.bus, b.bus);
      t.strictSame(heard, ['new']);
    },
  );

  promiseOfNetwork('subscriptions outlive a lost connection', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const heard = hear(b.bus);
    await joined(a.bus, b.bus);
    b.cut();
    await comesTrue('down', () => !b.bus.isUp);
    await b.mend();
    await comesTrue('up again', () => b.bus.isUp);
    await joined(a.bus, b.bus);
    say(a.bus, 'again');
    await comesTrue('heard', () => heard.includes('again'));
    t.strictSame(heard, ['again']);
  });

  promise('what is said before the close arrives, and nothing is said or heard after it', async (t, join) => {
    const [a, b] = await Promise.all([join(), join()]);
    const [heard, own] = [hear(b.bus), hear(a.bus)];
    await joined(a.bus, b.bus);
    await joined(b.bus, a.bus);
    say(a.bus, 'last');
    await a.bus.close();
    t.notOk(a.bus.isUp);
    t.notOk(say(a.bus, 'too late'));
    await comesTrue('heard', () => heard.length > 0);
    say(b.bus, 'nobody there');
    await new Promise((resolve) => setTimeout(resolve, 50));
    t.strictSame([heard, own], [['last'], []]);
  });
}
