// The sentences about a radio that hears nothing: their order, and what each says of several sessions.
import t from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import type { Facts } from '../../src/users/diagnosis/facts.js';
import { type Finding, findingCodes } from '../../src/users/diagnosis/finding.js';
import { findingsOf } from '../../src/users/diagnosis/findings.js';
import { rows } from '../helpers/pages/diagnosis-sentences.js';

const AT = '2026-11-29T10:05:00.250Z';
const FIRE = '11111111-1111-4111-8111-111111111111' as TalkgroupId;

const session = {
  ...{ node: 'a 1', thread: 'relay', session: 17, since: AT, resumed: false, detached_since: null },
  ...{ address: '192.0.2.7', client: null, round_trip_ms: 40, heard_at: AT, audio_paused_since: null },
  ...{ missed: 0, exceptions: [], last_refusal: null, reach: null, relays: 1 },
} as const;
const rejection = {
  ...{ node: 'a 1', at: '2026-11-29T10:06:00.000Z', code: 1008, reason: 'invalid token' },
  ...{ issued_at: '2026-11-29T09:00:00.000Z', address: '192.0.2.9', client: null },
} as const;
const device = { id: 'd', name: 'Engine 4', serial: 'SN', site: 's', active: true, position_at: null };
const fire = { id: FIRE, name: 'Fire 1', encryption: 'off', is_member: true, may_have_keys: false } as const;

/** User 17 is in Fire 1, where a member talks now, and the radio hears it. */
const facts = (over: Partial<Facts> = {}, shown: Partial<Facts['shown']> = {}): Facts => ({
  shown: {
    user: { id: 'u', username: '17', role: 'user', dispatcher: false, device_id: 'd', created_at: AT },
    device,
    talkgroups: [{ ...fire, site: 's', floor_mode: 'open' }],
    talkgroups_total: 1,
    tokens_valid_from: null,
    key_holders: { accepted: 0, waiting: 0 },
    emergencies: [],
    ...shown,
  },
  ...{
    talkgroup: fire,
    asked: 1,
    answered: 1,
    relays: { answered: 1, known: 1 },
    alone: [],
    sessions: [session],
    rejected: [],
  },
  ...{ admittedAt: AT, audioAt: AT, unixMs: Date.parse(AT) + 2000, ...over },
});
const codesOf = (given: Facts) => findingsOf(given).map(({ code }) => code);
const textsOf = (given: Facts) => findingsOf(given).map(({ text }) => text);

t.test('a radio that hears is in order', async (t) => {
  t.same(findingsOf(facts()), [
    {
      code: 'in_order',
      text: 'The relay sends Fire 1 to the radio of 17, which was heard 2 s ago and answered a ping after 40 ms.',
      action: 'Look at volume, mute and sound settings of the app.',
    },
  ]);
});

t.test('in order is said of the talkgroup in question alone', async (t) => {
  t.match(textsOf(facts({}, { talkgroups_total: 2 }))[0], /^The relay sends Fire 1 to the radio of 17, /);
});

t.test('all causes at once are told in their order', async (t) => {
  const given = facts(
    {
      ...{ asked: 3, answered: 2 },
      talkgroup: { ...fire, encryption: 'required' },
      rejected: [rejection],
      sessions: [
        {
          ...session,
          ...{ reach: 'partial', audio_paused_since: AT, missed: 600 },
          exceptions: [{ talkgroup_id: FIRE, mode: 'events', window_ms: null }],
        },
      ],
      audioAt: null,
    },
    { device: { ...device, active: false }, tokens_valid_from: '2026-11-29T09:58:00.000Z' },
  );
  const codes = codesOf(given);
  t.same(codes, [
    ...['device_disabled', 'rejected', 'no_permission', 'no_holder', 'events_only', 'lagging'],
    ...['relay_silent', 'reach', 'quiet'],
  ]);
  const isElsewhere = (code: string) => code !== 'relay_silent';
  t.same(
    codes.filter(isElsewhere),
    findingCodes.filter((code) => isElsewhere(code) && codes.includes(code)),
  );
  t.ok(
    textsOf(given).includes(
      'Audio has been paused since 2026-11-29 10:05:00 UTC, because the radio of 17 does not read fast enough. It missed 600 frames.',
    ),
  );
});

t.test('a silent node hides no cause that holds without it', async (t) => {
  const silent = { asked: 3, answered: 2 };
  const events = [{ talkgroup_id: FIRE, mode: 'events', window_ms: null }] as const;
  const found = facts({ ...silent, sessions: [{ ...session, exceptions: events }] });
  t.same(codesOf(found), ['events_only', 'relay_silent']);
  const gone = { ...silent, sessions: [], admittedAt: null, talkgroup: null };
  t.same(codesOf(facts(gone)), ['relay_silent', 'no_session']);
  t.equal(textsOf(facts(gone))[1], 'No radio of 17 is connected, on the 2 nodes that answered.');
  t.same(codesOf(facts({ ...gone, rejected: [rejection] })), ['rejected', 'relay_silent']);
  const off = { device: { ...device, active: false } };
  t.same(codesOf(facts(gone, off)), ['device_disabled', 'relay_silent', 'no_session']);
  t.same(codesOf(facts({ ...gone, answered: 0 }, off)), ['relay_silent', 'device_disabled']);
});

t.test('without a talkgroup in question, a cause in some talkgroups comes behind paused audio', async (t) => {
  const talkgroups = facts().shown.talkgroups;
  const events = [{ talkgroup_id: FIRE, mode: 'events', window_ms: null }] as const;
  const sessions = [{ ...session, audio_paused_since: AT, missed: 1, exceptions: events }];
  const of = (talkgroups_total: number, talkgroup: Facts['talkgroup'] = null) =>
    codesOf(facts({ talkgroup, sessions }, { talkgroups, talkgroups_total }));
  t.same(of(2), ['lagging', 'events_only']);
  t.same(of(1), ['events_only', 'lagging'], 'in all');
  t.same(of(2, fire), ['events_only', 'lagging'], 'in the one in question');
});

t.test('an old connection that a newer one replaced is not taken for a slow radio', async (t) => {
  const old = { ...session, session: 16, audio_paused_since: AT, missed: 9, node: 'c 3' };
  const since = '2026-11-29T10:05:30.000Z';
  const sessions = [old, { ...session, since, heard_at: since }];
  const at = { unixMs: Date.parse(since) + 2000, audioAt: since };
  t.same(textsOf(facts({ ...at, sessions })), [
    'The relay sends Fire 1 to the radio of 17 with session 17, which was heard 2 s ago and answered a ping after 40 ms.',
  ]);
  const stillHeard = [{ ...old, heard_at: '2026-11-29T10:05:31.000Z' }, sessions[1] as typeof old];
  t.match(textsOf(facts({ ...at, sessions: stillHeard })), [/because the radio of 17 with session 16/]);
  const reach = { sessions: sessions.map((one) => ({ ...one, reach: 'alone' as const })), alone: ['c 3'] };
  t.same(
    textsOf(facts({ ...at, ...reach })),
    ['The node a 1, where 17 is connected, does not reach the node c 3, so talkers there are not heard.'],
    'nor its node for that of the radio',
  );
});

t.test('of several sessions each names its own', async (t) => {
  const mode = [{ talkgroup_id: FIRE, mode: 'none', window_ms: null }] as const;
  const sessions = [session, { ...session, session: 18, exceptions: mode }];
  t.same(textsOf(facts({ sessions })), ['The radio of 17 with session 18 is unsubscribed from Fire 1.']);
});

t.test('a rejection counts when it is newer than all that was opened', async (t) => {
  const gone = { sessions: [], admittedAt: null };
  t.same(codesOf(facts({ rejected: [{ ...rejection, at: '2026-11-29T10:00:00.000Z' }] })), ['in_order']);
  t.same(codesOf(facts({ ...gone, rejected: [rejection] })), ['rejected']);
  t.same(codesOf(facts({ sessions: [] })), ['no_session']);
  const detached = { ...session, detached_since: '2026-11-29T10:07:00.000Z' };
  t.same(codesOf(facts({ rejected: [rejection], sessions: [detached] })), ['detached']);
  const admittedAt = '2026-11-29T10:08:00.000Z';
  t.same(
    codesOf(facts({ rejected: [rejection], sessions: [], admittedAt })),
    ['no_session'],
    'it came in later',
  );
  const full = { ...rejection, at: '2026-11-29T10:07:00.000Z', code: 1013, reason: 'overloaded' };
  t.match(
    textsOf(facts({ ...gone, rejected: [full, rejection] }))[0],
    /invalid token/,
    'which does not pass',
  );
  const hours = { ...gone, rejected: [full], unixMs: Date.parse(AT) + 7_200_000 };
  t.same(codesOf(facts({ ...hours, talkgroup: null })), ['no_session'], 'that passed long ago');
});

t.test('the revocation is named for an invalid token alone', async (t) => {
  const disabled = { ...rejection, reason: 'device disabled' };
  const of = (one: typeof rejection | typeof disabled) =>
    textsOf(
      facts(
        { sessions: [], admittedAt: null, rejected: [one] },
        { tokens_valid_from: '2026-11-29T09:58:00.000Z' },
      ),
    )[0];
  t.match(of(rejection), /because tokens issued before .* are revoked/);
  t.match(of(disabled), /“device disabled”\.$/);
  const [{ action = '' } = {}] = findingsOf(facts({ sessions: [], admittedAt: null, rejected: [disabled] }));
  t.match(action, /^The device is enabled again\. The radio tries about once a minute\.$/);
});

t.test('a session without a connection is told beside none that has one', async (t) => {
  const mode = [{ talkgroup_id: FIRE, mode: 'events', window_ms: null }] as const;
  const old = { ...session, session: 16, detached_since: '2026-11-29T10:01:00.000Z', exceptions: mode };
  t.same(textsOf(facts({ sessions: [old, session] })), [
    'The relay sends Fire 1 to the radio of 17, which was heard 2 s ago and answered a ping after 40 ms.',
  ]);
});

t.test(
  'a node that reaches fewer relays than answered is cut off, and one without the database is missing',
  async (t) => {
    t.match(findingsOf(facts({ relays: { answered: 3, known: 3 } })), [
      {
        code: 'reach',
        text: 'The node a 1, where 17 is connected, does not reach all others, so talkers there are not heard.',
      },
    ]);
    const sessions = [{ ...session, relays: 3 }];
    t.match(findingsOf(facts({ sessions, relays: { answered: 2, known: 3 } })), [
      { code: 'relay_silent', text: /^The nodes know of 3 relay threads, and 2 answered\./ },
    ]);
  },
);

t.test('of many talkgroups one is named', async (t) => {
  const talkgroups = ['A', 'B', 'C'].map((name) => ({
    ...{ id: name, name, site: 's', floor_mode: 'open', encryption: 'required', may_have_keys: false },
  })) as unknown as Facts['shown']['talkgroups'];
  const shown = { talkgroups, talkgroups_total: 3, key_holders: { accepted: 1, waiting: 1 } };
  t.same(textsOf(facts({ talkgroup: null }, shown)), [
    'Encryption is required in A and 2 other talkgroups, and 17 may not have the keys.',
    'Encryption is required in A and 2 other talkgroups, and 1 of the key holders of 17 wait to be accepted.',
  ]);
});

t.test('a talkgroup is quiet after a minute, and only the one in question', async (t) => {
  const after = (ms: number) => facts({ unixMs: Date.parse(AT) + ms });
  t.same(codesOf(after(59_999)), ['in_order']);
  t.same(codesOf(after(60_000)), ['quiet']);
  t.same(codesOf(facts({ talkgroup: null, audioAt: null })), ['in_order']);
  t.same(textsOf(facts({ audioAt: null })), ['No relay remembers audio in Fire 1.']);
});

t.test('what is missing is told without a cause, and last', async (t) => {
  t.same(codesOf(facts({}, { device: null })), ['in_order', 'no_device']);
  t.same(codesOf(facts({ asked: 0, answered: 0, talkgroup: null, sessions: [] })), ['relay_silent']);
  t.same(codesOf(facts({ talkgroup: null }, { talkgroups: [], talkgroups_total: 0 })), ['no_talkgroup']);
});

t.test(
  'without a talkgroup in question the talkgroups are named, and one that never came in has no time',
  async (t) => {
    t.match(findingsOf(facts({ talkgroup: null }, { talkgroups_total: 4 })), [
      {
        text: /^The relay sends Fire 1 and 3 other talkgroups to the radio of 17, /,
        action: /Then ask again with the talkgroup in question\.$/,
      },
    ]);
    t.same(textsOf(facts({ sessions: [] })), [
      'No radio of 17 is connected, on 1 node. The last one connected at 2026-11-29 10:05:00 UTC.',
    ]);
  },
);

/** Of each code a cause as docs/operations.md tells it, in the order of the page. */
const none = { sessions: [], admittedAt: null };
const required = { ...fire, encryption: 'required' } as const;
const inMode = (mode: 'events' | 'none') => ({
  sessions: [{ ...session, exceptions: [{ talkgroup_id: FIRE, mode, window_ms: null }] }],
});
const nodeC = 'radio-3 812 1xk3fa';
const examples: readonly [Finding['code'], Facts][] = [
  ['device_disabled', facts({}, { device: { ...device, active: false } })],
  ['rejected', facts({ ...none, rejected: [rejection] }, { tokens_valid_from: '2026-11-29T09:58:00.000Z' })],
  ['relay_silent', facts({ ...none, asked: 3, answered: 2 })],
  ['no_session', facts({ ...none, asked: 3, answered: 3 })],
  ['detached', facts({ sessions: [{ ...session, detached_since: AT }] })],
  ['no_talkgroup', facts({ talkgroup: null }, { talkgroups: [], talkgroups_total: 0 })],
  ['not_member', facts({ talkgroup: { ...fire, is_member: false } })],
  ['no_permission', facts({ talkgroup: required })],
  ['no_holder', facts({ talkgroup: { ...required, may_have_keys: true } })],
  ['unsubscribed', facts(inMode('none'))],
  ['events_only', facts(inMode('events'))],
  ['lagging', facts({ sessions: [{ ...session, audio_paused_since: AT, missed: 600 }] })],
  ['reach', facts({ sessions: [{ ...session, node: nodeC, reach: 'alone' }], alone: [nodeC] })],
  [
    'reach',
    facts({ sessions: [{ ...session, node: 'radio-2 4711 1xk3f9', reach: 'partial' }], alone: [nodeC] }),
  ],
  ['quiet', facts({ unixMs: Date.parse(AT) + 60_000 })],
  ['in_order', facts()],
  ['no_device', facts({}, { device: null })],
];

t.test('the page has each code in this order, with the sentence that the service says', async (t) => {
  t.same([...new Set(rows.map(({ code }) => code))], findingCodes);
  t.same(
    rows.map(({ code }) => code),
    examples.map(([code]) => code),
  );
  for (const [at, [code, given]] of examples.entries()) {
    const found = findingsOf(given);
    const finding = code === 'no_device' ? found.at(-1) : found[0];
    t.equal(finding?.code, code);
    const { sentence = '' } = rows[at] ?? {};
    t.ok(
      `${finding?.text} `.startsWith(`${sentence} `) && sentence !== '',
      `${finding?.text} begins with: ${sentence}`,
    );
  }
});
