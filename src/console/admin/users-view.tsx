// Shows accounts, the form of a new one, and the card of one.
import { account } from '../app/session.js';
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import type { Row } from './list.js';
import { focusSoon } from './parts.js';
import type { User } from './rows.js';
import { type Column, focusRow, TableView } from './table-view.js';
import { texts } from './texts.js';
import { UserCard } from './user-card.js';
import { UserCreation } from './user-creation.js';
import type { Users } from './users.js';

const { columns: titles } = texts;

export function UsersTable({ users }: { users: Users }) {
  const { table } = users;
  const openCard = (row: Row<User>) => {
    users.closeCard(row); // its key holders are read again
    users.open(row);
  };
  const columns: Column<User>[] = [
    {
      key: 'username',
      title: titles.name,
      isName: true,
      isControl: true,
      cell: (row) => (
        <button
          type="button"
          class="admin-cell name line first"
          aria-label={texts.cardOf(row.item.value.username)}
          onClick={() => openCard(row)}
        >
          {row.item.value.username}
        </button>
      ),
    },
    {
      key: 'role',
      title: titles.role,
      cell: (row) => (row.item.value.role === 'admin' ? <strong>{texts.administrator}</strong> : texts.user),
    },
    {
      key: 'device',
      title: titles.device,
      isUnsorted: true,
      cell: (row) => <DeviceCell device={row.item.value.device} />,
    },
    { key: 'created_at', title: titles.created, cell: (row) => texts.day(row.item.value.created_at) },
  ];
  return (
    <TableView
      section="users"
      {...{ table, columns }}
      nameOf={(row) => row.item.value.username}
      actions={(row) => <UserActions row={row} users={users} openCard={() => openCard(row)} />}
    />
  );
}

function DeviceCell({ device }: { device: User['device'] }) {
  if (device === null) return <span class="quiet">{texts.noDevice}</span>;
  return (
    <>
      <bdi>{device.name}</bdi>
      {!device.active && <span class="admin-off"> {texts.disabled}</span>}
    </>
  );
}

function UserActions({ row, users, openCard }: { row: Row<User>; users: Users; openCard(): void }) {
  const { username, role } = row.item.value;
  const isOwn = account.value?.userId === row.id;
  const revoke = async () => {
    if (!(await ask(texts.reallyRevoke(username, isOwn)))) return;
    users.table.acted.value = row;
    await users.revoke(row);
  };
  const remove = async () => {
    if (!(await ask(texts.reallyDeleteUser(username)))) return;
    users.table.acted.value = row;
    if (await users.remove(row)) focusRow(users.table.remove(row));
  };
  const items = [
    { text: texts.holders, onPress: openCard },
    { text: texts.revoke, onPress: () => void revoke() },
    // The operator has a command for the accounts of administrators.
    ...(role === 'user' ? [{ text: texts.removeUser, onPress: () => void remove() }] : []),
  ];
  return <Menu name={texts.actionsFor(username)} class="admin-icon" items={items} />;
}

/** The form of a new user, or the card of one. */
export function UserSide({ users }: { users: Users }) {
  const side = users.table.side.value;
  if (side === null) return null;
  const close = () => {
    users.table.side.value = null;
    if (side.kind === 'new') focusSoon('admin-new');
    else {
      users.closeCard(side.row);
      focusRow(side.row.id);
    }
  };
  if (side.kind === 'new') return <UserCreation users={users} onClose={close} />;
  return <UserCard key={side.row.id} row={side.row} users={users} onClose={close} />;
}
