// The keys of the console without a page: the holder of this browser, those of the account, and what a lock says.
import { randomBytes } from 'node:crypto';
import t from 'tap';
import type { HolderDatabase } from '../../src/client/radio.js';
import type { Rest } from '../../src/client/rest.js';
import { browserName, createKeys, type ListedHolder } from '../../src/console/keys/state.js';
import { keys as words } from '../../src/console/keys/texts.js';
import { createChoices } from '../../src/console/settings/choices.js';
import { talkerLock, talkgroupLock } from '../../src/console/talkgroups/lock-words.js';
import type { KeyringParts } from '../../src/console/worker/keyring.js';
import { openDeskKeys } from '../../src/console/worker/keys.js';
import type { ConnectionView, KeysView, Registration, Rejection } from '../../src/console/worker/messages.js';
import { fingerprint } from '../../src/protocol/encryption.js';
import { nodePrimitives } from '../../src/protocol/node-primitives.js';
import { turn } from '../helpers/client/fakes.js';
import { comesTrue } from '../helpers/eventually.js';

const GROUP = '7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f58';

const holder = (holder_id: string, over: Partial<ListedHolder> = {}): ListedHolder => ({
  ...{
    holder_id,
    user_id: GROUP,
    public_key: '?',
    name: holder_id,
    fingerprint: '00000',
    created_at: '2026-11-01T00:00:00Z',
  },
  ...{ accepted: true, ...over },
});

function pageKeys({
  isAdmin = false,
  registration = { isAccepted: true },
}: {
  isAdmin?: boolean;
  registration?: Registration;
} = {}) {
  const calls: string[] = [];
  const listed: { holders: ListedHolder[]; rejection: Rejection | null } = { holders: [], rejection: null };
  const rest = {
    async get(path: string) {
      calls.push(`GET ${path}`);
      return { holders: [...listed.holders] };
    },
    async post(path: string, body: unknown) {
      calls.push(`POST ${path} ${JSON.stringify(body)}`);
    },
    async remove(path: string) {
      calls.push(`DELETE ${path}`);
    },
  } as unknown as Rest; // the calls that keys make
  const keys = createKeys({
    ...{ rest, isAdmin, register: async () => registration },
    async accept(wanted) {
      calls.push(`accept ${JSON.stringify(wanted)}`);
      return listed.rejection;
    },
    forget: () => calls.push('forget'),
  });
  const says = (state: KeysView['state'], holderId: string | null = null) =>
    keys.take({ keys: { state, holderId, fingerprint: holderId && '12345' } });
  return { keys, calls, listed, says };
}

t.test('the password is asked for when the user wants to set up keys, and not by itself', async (t) => {
  const { keys, says } = pageKeys();
  says('none');
  t.equal(keys.isAsking.value, false);
  says('needed');
  t.equal(keys.isAsking.value, false, 'the dock says so');
  t.equal(keys.phase.value, 'needed');
  keys.ask();
  t.equal(keys.isAsking.value, true);
  keys.dismiss();
  t.equal(keys.isAsking.value, false);
  keys.ask();
  says('registered', 'own');
  await keys.register({ password: 'x', name: 'y' });
  t.equal(keys.isAsking.value, false);
  t.equal(keys.phase.value, 'accepted');
});

t.test('a browser that is not accepted waits, and is told when it is', async (t) => {
  const { keys, listed, says } = pageKeys({ registration: { isAccepted: false } });
  says('needed');
  await keys.register({ password: 'x', name: 'y' });
  listed.holders = [holder('phone'), holder('own', { accepted: false })];
  says('registered', 'own');
  await turn();
  t.equal(keys.phase.value, 'waiting');
  t.equal(keys.isAsking.value, true, 'the fingerprint is shown');
  t.equal(keys.mayAccept.value, false, 'it cannot accept itself');
  t.equal(keys.waiting.value, 0, 'itself is none of the others');
  listed.holders = [holder('phone'), holder('own')];
  keys.message({ type: 'KEY_HOLDERS', waiting: 0 });
  await turn();
  t.equal(keys.phase.value, 'accepted');
});

t.test('the digits of a holder are those of its key, whatever the service says', async (t) => {
  const { keys, listed, says } = pageKeys();
  const publicKey = randomBytes(65);
  listed.holders = [
    holder('own'),
    holder('phone', { public_key: publicKey.toString('base64url'), fingerprint: '11111 11111' }),
  ];
  says('registered', 'own');
  await comesTrue('they are listed', () => keys.others.value !== null);
  t.equal(keys.others.value?.[0]?.fingerprint, fingerprint(nodePrimitives, { userId: GROUP, publicKey }));
});

t.test('KEY_HOLDERS and each new connection read the list, and a holder that waits is counted', async (t) => {
  const { keys, calls, listed, says } = pageKeys();
  keys.take({ connection: { opened: 1 } as ConnectionView }); // the part that keys read
  await turn();
  t.same(calls, [], 'an account without a holder here is not asked for');
  listed.holders = [holder('own')];
  says('registered', 'own');
  await turn();
  listed.holders = [holder('own'), holder('phone', { accepted: false })];
  keys.message({ type: 'KEY_HOLDERS', waiting: 1 });
  await turn();
  t.equal(keys.waiting.value, 1);
  t.same(
    keys.others.value?.map(({ name }) => name),
    ['phone'],
  );
  keys.take({ connection: { opened: 2 } as ConnectionView });
  await turn();
  t.equal(calls.length, 3);
  await keys.accept('phone', 'secret');
  t.equal(calls.at(-2), 'accept {"holderId":"phone","password":"secret"}', 'by the key of this browser');
  t.match(keys.outcome.value, { isError: false });
  listed.rejection = { error: 'the challenge is not for this key holder', status: 0 };
  await keys.accept('phone', 'secret');
  t.match(keys.outcome.value, { isError: true, text: /challenge/ });
  await keys.remove('phone');
  t.equal(calls.at(-2), 'DELETE /keys/holders/phone');
});

t.test('an administrator accepts without a password', async (t) => {
  const { keys, calls } = pageKeys({ isAdmin: true });
  t.equal(keys.mayAccept.value, true);
  await keys.accept('phone', '');
  t.equal(calls[0], 'POST /keys/holders/phone/accept {}');
});

t.test('a holder that was deleted elsewhere is forgotten, one that was made meanwhile is not', async (t) => {
  const { keys, calls, listed, says } = pageKeys();
  listed.holders = [holder('phone')];
  void keys.reload();
  says('registered', 'new');
  await turn();
  t.notOk(keys.isBusy.value);
  t.equal(calls.filter((call) => call === 'forget').length, 1, 'the second list was read for it');
  t.equal(calls.filter((call) => call.startsWith('GET')).length, 2);
});

t.test('a registration that is rejected says why', async (t) => {
  for (const [registration, text] of [
    [{ error: 'invalid credentials', status: 401 }, words.wrongPassword],
    [{ error: 'too many', status: 429, retryAfterS: 5 }, words.tooMany(5)],
    [{ error: 'no network', status: 0 }, words.failed('no network')],
  ] as const) {
    const { keys, says } = pageKeys({ registration });
    says('needed');
    keys.ask();
    await keys.register({ password: 'x', name: 'y' });
    t.same(keys.outcome.value, { text, isError: true });
    t.equal(keys.isAsking.value, true);
  }
});

t.test('a browser has a name that its user can tell from others', async (t) => {
  const engine = 'AppleWebKit/537.36 (KHTML, like Gecko)';
  for (const [text, name] of [
    [`Mozilla/5.0 (X11; Linux x86_64) ${engine} Chrome/156.0.0.0 Safari/537.36`, 'Chrome on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0) ${engine} Chrome/156.0 Safari/537.36 Edg/156.0`, 'Edge on Windows'],
    ['Mozilla/5.0 (Android 16; Mobile; rv:153.0) Gecko/153.0 Firefox/153.0', 'Firefox on Android'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Safari/604.1', 'Safari on iOS'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/26.0 Safari/605.1', 'Safari on macOS'],
    ['curl', 'Browser'],
  ] as const)
    t.equal(browserName(text), name);
});

const ALLOWED = { encryption: 'allowed', isLockExpected: false, mayHaveKeys: true } as const;

t.test('the lock of a talkgroup says that the operator can hear it, or why nothing is heard', async (t) => {
  t.equal(talkgroupLock(ALLOWED, false, 'accepted'), null);
  t.match(talkgroupLock(ALLOWED, true, 'accepted'), {
    text: /operator can still hear it/,
    tone: 'safe',
    isLocked: true,
  });
  const required = { encryption: 'required', isLockExpected: true, mayHaveKeys: true } as const;
  t.match(talkgroupLock(required, false, 'accepted'), { text: /operator can still hear it/, tone: 'safe' });
  t.match(talkgroupLock({ ...required, mayHaveKeys: false }, false, 'accepted'), {
    tone: 'alarm',
    isLocked: false,
  });
  t.match(talkgroupLock({ ...ALLOWED, isLockExpected: true }, true, 'accepted'), {
    tone: 'alarm',
    mustConfirm: true,
  });
  t.match(talkgroupLock({ ...ALLOWED, encryption: 'off' }, true, 'accepted'), {
    tone: 'alarm',
    isLocked: false,
  });
  for (const phase of ['needed', 'waiting', 'impossible'] as const) {
    const open = { tone: 'alarm', isLocked: false } as const;
    t.match(talkgroupLock(required, false, phase), { ...open, text: words.lock.without[phase] });
    t.match(talkgroupLock(ALLOWED, true, phase), { ...open, text: words.lock.chosenWithout });
  }
});

t.test(
  'CLEAR is an alarm where encryption is expected, and what cannot be opened says what to do',
  async (t) => {
    const expected = { isLockExpected: true };
    const other = { isLockExpected: false };
    t.match(talkerLock({ lock: 'clear', unopened: null }, expected, false), { text: 'CLEAR', tone: 'alarm' });
    t.match(talkerLock({ lock: 'clear', unopened: null }, other, false), { text: '' });
    t.match(talkerLock({ lock: 'clear', unopened: null }, other, true), { text: words.lock.clearHint });
    t.match(talkerLock({ lock: 'encrypted', unopened: null }, expected, false), { text: 'encrypted' });
    for (const reason of ['no_key', 'old_epoch', 'suite', 'changed', 'repeated'] as const) {
      const shown = talkerLock({ lock: 'cannot_open', unopened: reason }, expected, false);
      t.match(shown, {
        text: 'not heard',
        hint: words.lock.reasons[reason],
        tone: 'alarm',
      });
    }
    t.match(talkerLock({ lock: null, unopened: null }, expected, false), { text: '' });
  },
);

t.test('a choice that does not say whether to encrypt is not read', async (t) => {
  const stored = '[["a",{"volume":1,"isMuted":true,"isSelected":false}]]';
  const choices = createChoices({ getItem: () => stored, setItem() {} }, 'u1');
  t.equal(choices.read('a'), null);
});

/** The worker's keys over a database of the test. */
async function workerKeys({ registered = null as string | null, isBroken = false } = {}) {
  const calls: string[] = [];
  const secrets = new Map<number, Uint8Array>();
  const arrivals = new Set<(talkgroupId: string) => void>();
  const key = { publicKey: new Uint8Array(65), pair: {} };
  const database = {
    registered: async () => registered && { ...key, holderId: registered },
    holder: async () => ({ ...key, holderId: null }),
    keepHolderId: async (_user: string, _key: unknown, holderId: string) => ({ ...key, holderId }),
    forget: async () => void calls.push('forget'),
    memory: async () => ({ read: () => null, write() {} }),
  } as unknown as HolderDatabase; // a pair is opaque to the console
  const parts = {
    createKeyring: ({ holder }: { holder: { holderId: string } }) => ({
      primitives: {},
      secretFor: (_group: string, counter: number) => secrets.get(counter) ?? null,
      want: (_group: string, counter: number) => void calls.push(`${holder.holderId} wants ${counter}`),
      ...{ forget() {}, retry: () => void calls.push('retry'), close: () => void calls.push('close') },
      onChange: (run: (talkgroupId: string) => void) => arrivals.add(run),
    }),
    async registerHolder(_rest: unknown, { password }: { password: string }) {
      if (password === 'wrong') throw Object.assign(new Error('invalid credentials'), { status: 401 });
      return { holderId: 'made', fingerprint: 'of the service', accepted: false };
    },
    fingerprintOf: () => 'of this browser',
  } as unknown as KeyringParts; // what the console calls of them
  let changed = 0;
  const keys = await openDeskKeys({
    ...{ userId: 'u1', rest: {} as Rest },
    openDatabase: async () => {
      if (isBroken) throw new Error('a private window');
      return database;
    },
    async loadKeyring() {
      calls.push('load');
      return parts;
    },
    changed() {
      changed += 1;
    },
  });
  return { keys, calls, secrets, arrivals, changes: () => changed };
}

t.test('the cryptography is loaded when there is a holder, and not before', async (t) => {
  const { keys, calls } = await workerKeys();
  keys.store.want(GROUP, 3);
  t.same(calls, []);
  t.equal(keys.view().state, 'needed');
});

t.test('what was wanted before the registration is fetched after it', async (t) => {
  const { keys, calls, secrets, arrivals, changes } = await workerKeys();
  const arrived: string[] = [];
  keys.store.onChange((talkgroupId) => arrived.push(talkgroupId));
  keys.store.want(GROUP, 3);
  t.match(await keys.register({ password: 'wrong', name: 'x' }), { error: /credentials/, status: 401 });
  t.match(await keys.register({ password: 'right', name: 'x' }), { isAccepted: false });
  t.same(calls.slice(-1), ['made wants 3']);
  t.equal(changes(), 2, 'needed, then registered');
  t.match(keys.view(), { state: 'registered', holderId: 'made', fingerprint: 'of this browser' });
  t.equal(keys.store.secretFor(GROUP, 3), null);
  secrets.set(3, new Uint8Array(32));
  for (const run of arrivals) run(GROUP);
  t.same(arrived, [GROUP]);
  t.equal(keys.store.secretFor(GROUP, 3)?.length, 32);
});

t.test('a holder that the service has deleted is made anew with another key pair', async (t) => {
  const { keys, calls } = await workerKeys({ registered: 'old' });
  t.match(keys.view(), { state: 'registered', holderId: 'old' });
  keys.store.want(GROUP, 4);
  await keys.forget();
  t.same(calls.slice(-3), ['old wants 4', 'close', 'forget']);
  t.match(keys.view(), { state: 'needed', holderId: null });
});

t.test('a browser that keeps nothing says so, and the radio works without keys', async (t) => {
  const { keys } = await workerKeys({ isBroken: true });
  keys.store.want(GROUP, 3);
  t.equal(keys.view().state, 'impossible');
  t.equal(keys.store.secretFor(GROUP, 3), null);
  t.match(await keys.register({ password: 'right', name: 'x' }), { status: 0 });
});
