// The form that creates an account. Users can register by themselves as well.
import { Said, textIn } from './parts.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

export function UserCreation({ users }: { users: Users }) {
  const create = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const wanted = {
      username: textIn(data, 'username'),
      password: textIn(data, 'password'),
      deviceSerial: textIn(data, 'serial'),
    };
    if (await users.create(wanted)) form.reset();
  };
  return (
    <form
      class="card admin-creation"
      onSubmit={(event) => {
        event.preventDefault();
        void create(event.currentTarget);
      }}
    >
      <label class="field">
        {texts.newUsername}
        <input name="username" required autocomplete="off" autocapitalize="none" spellcheck={false} />
      </label>
      <label class="field">
        {texts.newPassword}
        <input name="password" type="password" required autocomplete="new-password" />
      </label>
      <label class="field">
        {texts.newSerial}
        <input name="serial" autocomplete="off" autocapitalize="none" spellcheck={false} />
      </label>
      <button type="submit" class="primary" aria-disabled={users.creation.isBusy.value}>
        {texts.createUser}
      </button>
      <Said action={users.creation} />
    </form>
  );
}
