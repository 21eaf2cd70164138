// The form that creates an account. Users can register by themselves as well.
import { Frame } from './frame.js';
import { focusAtOnce, Said, textIn } from './parts.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

export function UserCreation({ users, onClose }: { users: Users; onClose(): void }) {
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
    <Frame title={texts.newUser} onClose={onClose}>
      <form
        class="admin-form"
        onSubmit={(event) => {
          event.preventDefault();
          void create(event.currentTarget);
        }}
      >
        <label class="field">
          {texts.newUsername}
          <input
            name="username"
            required
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            ref={focusAtOnce}
          />
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
    </Frame>
  );
}
