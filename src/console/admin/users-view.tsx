// Shows accounts, the form of a new one, and the card of one.
import { account } from '../app/session.js';
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import type { Row } from './list.js';
import { focusSoon } from './parts.js';
import { mayRevoke, type User } from './rows.js';
import { type Column, focusRow, TableView } from './table-view.js';
import { texts } from './texts.js';
import { UserCard } from './user-card.js';
import { UserCreation } from './user-creation.js';
import type { Users } from './users.js';

const { columns: titles } = texts;

type Props = { users: Users; isAdmin: boolean };

export function UsersTable({ users, isAdmin }: Props) {
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
      cell: (row) => <RoleOf user={row.item.value} />,
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
      actions={(row) => <UserActions {...{ row, users, isAdmin }} openCard={() => openCard(row)} />}
    />
  );
}

function RoleOf({ user }: { user: User }) {
  return user.role === 'admin' || user.dispatcher ? (
    <strong>{texts.roleOf(user)}</strong>
  ) : (
    texts.roleOf(user)
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

function UserActions({ row, users, isAdmin, openCard }: Props & { row: Row<User>; openCard(): void }) {
  const { username, role, dispatcher } = row.item.value;
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
  const setDispatcher = async () => {
    if (!(await ask(dispatcher ? texts.reallyDismiss(username) : texts.reallyAdmit(username)))) return;
    users.table.acted.value = row;
    await users.setDispatcher(row, !dispatcher);
  };
  // The operator has a command for the accounts of administrators.
  const ofAdmin = [
    {
      text: dispatcher ? texts.dismissDispatcher : texts.admitDispatcher,
      onPress: () => void setDispatcher(),
    },
    { text: texts.removeUser, onPress: () => void remove() },
  ];
  const items = [
    { text: isAdmin ? texts.holders : texts.card, onPress: openCard },
    ...(mayRevoke(account.value, row.item.value)
      ? [{ text: texts.revoke, onPress: () => void revoke() }]
      : []),
    ...(isAdmin && role === 'user' ? ofAdmin : []),
  ];
  return <Menu name={texts.actionsFor(username)} class="admin-icon" items={items} />;
}

/** The form of a new user, or the card of one. */
export function UserSide({ users, isAdmin }: Props) {
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
  return <UserCard key={side.row.id} row={side.row} {...{ users, isAdmin }} onClose={close} />;
}
