// The form that creates an account. Users can register by themselves as well.
import { CreationFrame } from './frame.js';
import { focusAtOnce, textIn } from './parts.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

export function UserCreation({ users, onClose }: { users: Users; onClose(): void }) {
  const create = (data: FormData) =>
    users.create({
      username: textIn(data, 'username'),
      password: textIn(data, 'password'),
      deviceSerial: textIn(data, 'serial'),
    });
  return (
    <CreationFrame
      title={texts.newUser}
      submit={texts.createUser}
      action={users.creation}
      {...{ create, onClose }}
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
    </CreationFrame>
  );
}
