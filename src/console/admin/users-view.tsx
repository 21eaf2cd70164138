// Shows accounts: creation, search, device, and the button that revokes their tokens.

import { account } from '../app/session.js';
import { ask } from '../dialogs/state.js';
import { HoldersView } from './holders-view.js';
import type { Row } from './list.js';
import { ActionButton, focusSoon, ListView, Said } from './parts.js';
import type { User } from './rows.js';
import { texts } from './texts.js';
import { UserCreation } from './user-creation.js';
import type { Users } from './users.js';

export function UsersView({ users }: { users: Users }) {
  users.list.open();
  return (
    <section class="admin-section" aria-labelledby="admin-users">
      <h2 id="admin-users">{texts.users}</h2>
      <UserCreation users={users} />
      <label class="field">
        {texts.search}
        <input
          type="search"
          autocomplete="off"
          value={users.start.value}
          onInput={(event) => users.search(event.currentTarget.value)}
        />
      </label>
      <ListView
        list={users.list}
        label={texts.users}
        render={(row) => <UserRow key={row.id} row={row} users={users} />}
      />
    </section>
  );
}

function UserRow({ row, users }: { row: Row<User>; users: Users }) {
  const { username, role, device_id, created_at } = row.item.value;
  const name = `user-${row.id}`;
  const isOwn = account.value?.userId === row.id;
  const holders = `${name}-holders`;
  const areHoldersShown = row.panel.value === 'holders';
  const closeHolders = () => {
    row.panel.value = null;
    users.closeHolders(row);
    focusSoon(holders);
  };
  return (
    <article class="card admin-row" aria-labelledby={name}>
      <h3 id={name} class="name">
        {username}
      </h3>
      <p class="quiet">
        {role === 'admin' ? texts.administrator : texts.user}, {texts.created(created_at)}
      </p>
      <DeviceOf id={device_id} users={users} describedBy={name} />
      <div class="row">
        <ActionButton
          id={holders}
          action={row.action}
          label={texts.holders}
          describedBy={name}
          isOpen={areHoldersShown}
          onPress={() => {
            if (areHoldersShown) closeHolders();
            else row.panel.value = 'holders';
          }}
        />
        <ActionButton
          action={row.action}
          label={texts.revoke}
          describedBy={name}
          kind="danger"
          onPress={async () => {
            if (await ask(texts.reallyRevoke(username, isOwn))) await users.revoke(row);
          }}
        />
      </div>
      {areHoldersShown && (
        <HoldersView holders={users.holdersOf(row)} name={username} onClose={closeHolders} />
      )}
      <Said action={row.action} />
    </article>
  );
}

function DeviceOf({ id, users, describedBy }: { id: string | null; users: Users; describedBy: string }) {
  if (id === null) return <p class="quiet">{texts.noDevice}</p>;
  const words = users.devices.value.get(id);
  return (
    <div class="row">
      <button type="button" aria-describedby={describedBy} onClick={() => void users.showDevice(id)}>
        {texts.showDevice}
      </button>
      <span class="name" role="status">
        {words ?? ''}
      </span>
    </div>
  );
}
