// A radio detects missed events and requests a snapshot, at a random time so that a fleet does not do so at once.
import fc from 'fast-check';
import t from 'tap';
import {
  ALPHA,
  BRAVO,
  fakeWorld,
  keyRotated,
  talkEnd,
  talker,
  talkStart,
  turn,
} from '../helpers/client/fakes.js';

const id = ALPHA.talkgroup_id;

function setUp({ random = () => 0.5 }: { random?: () => number } = {}) {
  const { socket, ...world } = fakeWorld({ random });
  socket().welcomes({ talkgroups: [{ ...ALPHA, event: 10 }, BRAVO] });
  const rotates = (event: number, talkgroup_id = id) => socket().says(keyRotated(talkgroup_id, event, event));
  const syncs = () => socket().texts.filter(({ type }) => type === 'SYNC');
  return { ...world, socket, rotates, syncs };
}

t.test('events that follow each other are no gap, in each talkgroup by its own count', async (t) => {
  const { clock, radio, rotates, syncs } = setUp();
  for (const event of [11, 12, 13]) rotates(event);
  rotates(1, BRAVO.talkgroup_id);
  clock.pass(10_000);
  t.equal(radio.gaps, 0);
  t.same(syncs(), []);
  t.equal(radio.talkgroups.get(id)?.event, 13);
});

t.test('after a gap the radio waits its turn, asks once, and takes the answer for the truth', async (t) => {
  const { clock, radio, socket, rotates, syncs } = setUp();
  const heard: string[] = [];
  radio.on('talk_started', ({ session }) => heard.push(`started ${session}`));
  radio.on('talk_ended', ({ session, code }) => heard.push(`ended ${session} ${code}`));
  socket().says(talkStart({ event: 11 }));
  rotates(14);
  rotates(16);
  t.equal(radio.gaps, 2);
  clock.pass(999);
  t.same(syncs(), []);
  clock.pass(1);
  t.match(syncs(), [{ type: 'SYNC', talkgroup_id: id }]);
  t.equal(syncs().length, 1);

  const now = { ...talker({ session: 21 }), frames: 5, sequence: 4 };
  socket().says({
    ...{ type: 'SYNCED', ref: syncs()[0]?.ref as number },
    ...{ ...ALPHA, name: 'Alpha 2', event: 16, talkers: [now], talkers_total: 1 },
  });
  t.same(heard, ['started 20', 'ended 20 lost', 'started 21']);
  t.match(radio.talkgroups.get(id), { name: 'Alpha 2', event: 16 });
  t.notOk('ref' in (radio.talkgroups.get(id) ?? {}), 'the answer’s own fields are not the talkgroup’s');
  rotates(17);
  clock.pass(10_000);
  t.equal(syncs().length, 1);
});

t.test('what a snapshot has told already is not told again', async (t) => {
  const { radio, socket } = setUp();
  let started = 0;
  radio.on('talk_started', () => started++);
  socket().says(talkStart({ event: 10 }));
  socket().says(talkStart({ event: 3 }));
  t.equal(started, 0);
  t.equal(radio.gaps, 0);
  socket().says(talkStart({ event: 11 }));
  socket().says(talkEnd({ event: 11 }));
  t.equal(radio.talkgroups.get(id)?.talkers.size, 1);
});

t.test(
  'a snapshot that comes by itself, a goodbye, or a lost connection make the question needless',
  async (t) => {
    const ends: ((world: ReturnType<typeof setUp>) => void)[] = [
      ({ socket }) =>
        socket().says({
          type: 'SUBSCRIBED',
          more: false,
          talkgroups: [{ ...ALPHA, event: 12 }],
          refused: [],
        }),
      ({ socket }) => socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: id, reason: 'left' }),
      ({ socket, clock }) => {
        socket().closes(1006);
        clock.pass(250);
        socket().welcomes();
      },
    ];
    for (const end of ends) {
      const world = setUp();
      world.rotates(12);
      end(world);
      world.clock.pass(3_000);
      t.same(world.syncs(), []);
    }
  },
);

t.test('a question that was refused for now is asked again, one refused for good is not', async (t) => {
  for (const [code, asked] of [
    ['rate_limited', 2],
    ['unavailable', 2],
    ['not_member', 1],
  ] as const) {
    const { clock, socket, rotates, syncs } = setUp();
    rotates(12);
    clock.pass(1_000);
    socket().says({ type: 'ERROR', ref: syncs()[0]?.ref as number, code, message: '' });
    await turn();
    clock.pass(999);
    t.equal(syncs().length, 1);
    clock.pass(1);
    t.equal(syncs().length, asked, code);
  }
});

t.test('a refusal that comes when a snapshot has come by itself asks for nothing more', async (t) => {
  const { clock, socket, rotates, syncs } = setUp();
  rotates(12);
  clock.pass(1_000);
  socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [{ ...ALPHA, event: 12 }], refused: [] });
  socket().says({ type: 'ERROR', ref: syncs()[0]?.ref as number, code: 'rate_limited', message: '' });
  await turn();
  clock.pass(5_000);
  t.equal(syncs().length, 1);
});

t.test(
  'whatever is missed and whenever, a talkgroup is asked for at most once a second, and in the end',
  async () => {
    const step = fc.record({ waitMs: fc.nat(1_500), skipped: fc.nat(2), isAnswered: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 60 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 1_999 })),
        (steps, dice) => {
          const { clock, socket, rotates, syncs } = setUp({ random: () => dice.next().value / 2_000 });
          let event = 10;
          let isBehind = false;
          let answered = 0;
          const askedAtMs: number[] = [];
          const answer = () => {
            for (const { ref } of syncs().slice(answered))
              socket().says({ type: 'SYNCED', ref: ref as number, ...ALPHA, event });
            if (syncs().length > answered) isBehind = false;
            answered = syncs().length;
          };
          const pass = (ms: number) => {
            for (let i = 0; i <= ms; i++) {
              clock.pass(i === 0 ? 0 : 1);
              while (askedAtMs.length < syncs().length) askedAtMs.push(clock.nowMs());
            }
          };
          for (const { waitMs, skipped, isAnswered } of steps) {
            event += 1 + skipped;
            if (skipped > 0) isBehind = true;
            rotates(event);
            pass(waitMs);
            if (isAnswered) answer();
          }
          pass(3_001);
          answer();
          const apart = askedAtMs.slice(1).map((atMs, i) => atMs - (askedAtMs[i] ?? 0));
          return !isBehind && apart.every((ms) => ms >= 1_000);
        },
      ),
      { numRuns: 30 },
    );
  },
);
