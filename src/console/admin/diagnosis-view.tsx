// The part of a user's card that finds out why a radio hears nothing: a talkgroup, a button, and the causes in sentences.
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { createAttempt } from '../app/attempt.js';
import { timeText } from '../app/time-of-day.js';
import { wordsOf } from './failure.js';
import type { Row } from './list.js';
import { Said, textIn } from './parts.js';
import type { Diagnosis, OneUser, User } from './rows.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

export function DiagnosisView({ row, users, shown }: { row: Row<User>; users: Users; shown: OneUser }) {
  const found = useSignal<Diagnosis | null>(null);
  const asking = useMemo(() => createAttempt(wordsOf), [row]);
  const find = (talkgroup: string) =>
    asking.run(async () => {
      found.value = null;
      const diagnosis = await users.diagnose(row, talkgroup === '' ? null : talkgroup);
      found.value = diagnosis;
      return texts.answered(diagnosis.relays);
    });
  return (
    <section class="admin-part" aria-labelledby="admin-diagnosis">
      <h3 id="admin-diagnosis">{texts.diagnosis}</h3>
      <form
        class="admin-form"
        onSubmit={(event) => {
          event.preventDefault();
          void find(textIn(new FormData(event.currentTarget), 'talkgroup'));
        }}
      >
        <label class="field">
          {texts.inTalkgroup}
          <select name="talkgroup">
            <option value="">{texts.anyTalkgroup}</option>
            {shown.talkgroups.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" aria-disabled={asking.isBusy.value}>
          {texts.diagnose}
        </button>
        <Said action={asking} />
      </form>
      {found.value !== null && <Found diagnosis={found.value} />}
    </section>
  );
}

function Found({ diagnosis: { findings, sessions } }: { diagnosis: Diagnosis }) {
  return (
    <>
      <ol class="admin-rows" aria-label={texts.findings}>
        {findings.map(({ text, action }, at) => (
          <li key={at}>
            <p class="admin-cause">{text}</p>
            <p class="quiet">{action}</p>
          </li>
        ))}
      </ol>
      <ul class="admin-rows" aria-label={texts.sessions}>
        {sessions.map((session) => (
          <li key={session.session} class="quiet">
            {texts.session(session, timeText)}
          </li>
        ))}
      </ul>
    </>
  );
}
