// The card of a user: device, tokens, talkgroups, what keeps the user from hearing, and the browsers and radios with keys.
import { useSignal } from '@preact/signals';
import { timeText } from '../app/time-of-day.js';
import { ask } from '../dialogs/state.js';
import { SetupCode } from '../setup/code-view.js';
import { card as setupWords } from '../setup/texts.js';
import { DiagnosisView } from './diagnosis-view.js';
import { wordsOf } from './failure.js';
import { Frame } from './frame.js';
import { HoldersView } from './holders-view.js';
import type { Row } from './list.js';
import { focusAtOnce, Said, textIn } from './parts.js';
import type { OneUser, User } from './rows.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

/** What the card changes. */
type Form = 'device' | 'password' | 'code';

const forms: readonly { readonly kind: Form; readonly text: string }[] = [
  { kind: 'device', text: texts.setDevice },
  { kind: 'password', text: texts.setPassword },
  { kind: 'code', text: setupWords.open },
];

const dateWords = (time: string) => texts.date(time, timeText);

type CardProps = {
  row: Row<User>;
  users: Users;
  /** false: a dispatcher, who changes nothing here. */
  isAdmin: boolean;
  onClose(): void;
};

export function UserCard({ row, users, isAdmin, onClose }: CardProps) {
  const { username, role, created_at } = row.item.value;
  const shown = users.shown.value.get(row.id);
  const form = useSignal<Form | null>(null);
  return (
    <Frame title={username} label={texts.cardOf(username)} onClose={onClose}>
      <dl class="admin-facts">
        <dt>{texts.columns.role}</dt>
        <dd>{texts.roleOf(row.item.value)}</dd>
        <dt>{texts.columns.created}</dt>
        <dd>{texts.date(created_at, timeText)}</dd>
        {typeof shown === 'object' && <Facts shown={shown} />}
      </dl>
      {typeof shown !== 'object' && (
        <p class={shown === undefined ? 'quiet' : 'error'} role="status">
          {shown ?? texts.reading}
        </p>
      )}
      {isAdmin && role === 'user' && typeof shown === 'object' && (
        <div class="row">
          {forms.map(({ kind, text }) => (
            <button
              key={kind}
              type="button"
              aria-expanded={form.value === kind}
              onClick={() => {
                form.value = form.value === kind ? null : kind;
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
      {form.value === 'device' && typeof shown === 'object' && <DeviceForm row={row} users={users} />}
      {form.value === 'password' && <PasswordForm row={row} users={users} />}
      {form.value === 'code' && (
        <SetupCode user={row.item.value} rest={users.rest} inWords={wordsOf} when={dateWords} />
      )}
      <Said action={users.changesOf(row)} />
      {typeof shown === 'object' && <DiagnosisView row={row} users={users} shown={shown} />}
      {typeof shown === 'object' && <Talkgroups shown={shown} />}
      {isAdmin && (
        <section class="admin-part" aria-labelledby="admin-holders">
          <h3 id="admin-holders">{texts.holders}</h3>
          <HoldersView holders={users.holdersOf(row)} name={username} />
        </section>
      )}
    </Frame>
  );
}

function Facts({ shown: { device, tokens_valid_from } }: { shown: OneUser }) {
  return (
    <>
      <dt>{texts.columns.device}</dt>
      <dd class={device?.active === false ? 'admin-off' : ''}>
        {device === null ? texts.noDevice : texts.deviceFacts(device)}
      </dd>
      {device !== null && (
        <>
          <dt>{texts.position}</dt>
          <dd>{texts.positionAt(device.position_at, timeText)}</dd>
        </>
      )}
      <dt>{texts.tokens}</dt>
      <dd>{texts.tokensFrom(tokens_valid_from, timeText)}</dd>
    </>
  );
}

/** null: nothing that is stored keeps the user from hearing. */
function causeOf({ device, talkgroups }: OneUser): keyof typeof texts.hearsNothing | null {
  if (device?.active === false) return 'device';
  if (talkgroups.length === 0) return 'talkgroups';
  return talkgroups.every(isWithoutKeys) ? 'keys' : null;
}

const isWithoutKeys = ({ encryption, may_have_keys }: OneUser['talkgroups'][number]) =>
  encryption === 'required' && !may_have_keys;

function Talkgroups({ shown }: { shown: OneUser }) {
  const cause = causeOf(shown);
  return (
    <section class="admin-part" aria-labelledby="admin-groups">
      <h3 id="admin-groups">{texts.groups(shown.talkgroups_total)}</h3>
      {cause !== null && <p class="admin-off">{texts.hearsNothing[cause]}</p>}
      <ul class="admin-rows" aria-label={texts.talkgroups}>
        {shown.talkgroups.map((one) => (
          <li key={one.id}>
            <bdi>{one.name}</bdi>
            {isWithoutKeys(one) && <span class="admin-off"> {texts.withoutKeys}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function DeviceForm({ row, users }: { row: Row<User>; users: Users }) {
  const save = async (serial: string) => {
    const { username, device } = row.item.peek();
    if (users.changesOf(row).isBusy.peek() || serial === (device?.serial ?? '')) return;
    if (device !== null && !(await ask(texts.reallyMoveDevice(username)))) return;
    await users.setDevice(row, serial);
  };
  return (
    <form
      class="admin-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save(textIn(new FormData(event.currentTarget), 'serial').trim());
      }}
    >
      <label class="field">
        {texts.newDevice}
        <input
          name="serial"
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          defaultValue={row.item.value.device?.serial ?? ''}
          ref={focusAtOnce}
        />
      </label>
      <p class="quiet">{texts.deviceHint}</p>
      <button type="submit" class="primary" aria-disabled={users.changesOf(row).isBusy.value}>
        {texts.saveDevice}
      </button>
    </form>
  );
}

function PasswordForm({ row, users }: { row: Row<User>; users: Users }) {
  return (
    <form
      class="admin-form"
      onSubmit={async (event) => {
        event.preventDefault();
        const form = event.currentTarget;
        const data = new FormData(form);
        if (users.changesOf(row).isBusy.peek()) return;
        if (await users.setPassword(row, textIn(data, 'password'), data.has('keep'))) form.reset();
      }}
    >
      <label class="field">
        {texts.passwordOf}
        <input name="password" type="password" required autocomplete="new-password" ref={focusAtOnce} />
      </label>
      <label class="admin-check">
        <input name="keep" type="checkbox" />
        {texts.keepTokens}
      </label>
      <button type="submit" class="primary" aria-disabled={users.changesOf(row).isBusy.value}>
        {texts.savePassword}
      </button>
    </form>
  );
}
