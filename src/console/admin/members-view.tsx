// Shows all members of one talkgroup, with a search for users to add.
import { useId, useState } from 'preact/hooks';
import { desk } from '../app/desk.js';
import { type Account, account } from '../app/session.js';
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import type { Tile } from '../talkgroups/state.js';
import { Frame } from './frame.js';
import type { Row } from './list.js';
import { createMembers, type Members } from './members.js';
import { ActionButton, focusAtOnce, ListView, Said } from './parts.js';
import { type Member, mayRevoke, type Talkgroup } from './rows.js';
import type { Talkgroups } from './talkgroups.js';
import { texts } from './texts.js';

/** In the panel of a tile, after those online. */
export default function MembersOfTile() {
  const now = desk.value;
  const tile = now?.talkgroups.tile(now.membersOf.value ?? '');
  if (now === null || tile === undefined) return null;
  return <OfTile key={tile.id} tile={tile} by={now.account} />;
}

function OfTile({ tile: { id, view }, by: { rest, role } }: { tile: Tile; by: Account }) {
  const [members] = useState(() =>
    createMembers(rest, {
      id,
      hasKeys: () => role === 'admin' && view.peek().encryption === 'required',
      counted() {}, // the tile counts sessions
    }),
  );
  return (
    <section class="admin-members">
      <h3>{texts.allMembers}</h3>
      <AllMembers members={members} talkgroup={view.value.name} />
    </section>
  );
}

type FrameProps = { row: Row<Talkgroup>; talkgroups: Talkgroups; onClose(): void };

/** Beside the table. */
export function MembersFrame({ row, talkgroups, onClose }: FrameProps) {
  const [members] = useState(() => talkgroups.membersOf(row));
  const { name } = row.item.value;
  return (
    <Frame title={texts.membersOf(name)} onClose={onClose}>
      <div class="admin-members">
        <AllMembers members={members} talkgroup={name} hasFocus />
      </div>
    </Frame>
  );
}

type MembersProps = {
  members: Members;
  /** Its name. */
  talkgroup: string;
};

/** `hasFocus`: the field for users to add takes the focus when it appears. */
function AllMembers({ members, talkgroup, hasFocus = false }: MembersProps & { hasFocus?: boolean }) {
  members.list.open();
  const field = useId();
  return (
    <>
      <Search members={members} field={field} hasFocus={hasFocus} />
      <Said action={members.action} />
      <ListView
        list={members.list}
        label={texts.membersOf(talkgroup)}
        render={(row) => <MemberRow row={row} members={members} talkgroup={talkgroup} field={field} />}
      />
    </>
  );
}

function MemberRow({
  row,
  members,
  talkgroup,
  field,
}: MembersProps & {
  row: Row<Member>;
  field: string;
}) {
  const { user, site, keys } = row.item.value;
  const takeOut = async () => {
    if (!(await ask(texts.reallyTakeOut(user.username, talkgroup)))) return;
    const rows = members.list.rows.peek();
    const at = rows.indexOf(row);
    const next = rows[at + 1] ?? rows[at - 1];
    if (await members.remove(row)) focusIfLost(next === undefined ? field : rowIdOf(field, next));
  };
  const revoke = async () => {
    const isOwn = account.value?.userId === row.id;
    if (await ask(texts.reallyRevoke(user.username, isOwn))) await members.revoke(row);
  };
  const mayHave = keys?.may_have_keys === true;
  const permit = {
    text: mayHave ? texts.takeKeys(user.username) : texts.allowKeys(user.username),
    onPress: () => void members.permitKeys(row, !mayHave),
  };
  const items = [
    ...(keys === null ? [] : [permit]),
    { text: texts.removeMember, onPress: () => void takeOut() },
    ...(mayRevoke(account.value, { ...user, isOwn: row.id === account.value?.userId })
      ? [{ text: texts.revoke, onPress: () => void revoke() }]
      : []),
  ];
  return (
    <div class="admin-member" id={rowIdOf(field, row)}>
      <span class="name line">{user.username}</span>
      <span class="quiet name line">{site}</span>
      <Menu name={texts.actionsFor(user.username)} class="admin-icon" items={items} />
      {/* Nothing where encryption is not required. */}
      {keys !== null && (
        <span class={mayHave ? 'admin-keys quiet' : 'admin-keys admin-off'}>{texts.mayHaveKeys(keys)}</span>
      )}
    </div>
  );
}

const rowIdOf = (field: string, { id }: Row<Member>) => `${field}-${id}`;

/** What had the focus is no longer there. A user who has gone on, such as to a talk key, keeps the focus. */
function focusIfLost(id: string): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const place = document.getElementById(id);
    (place?.querySelector('button') ?? place)?.focus();
  });
}

type SearchProps = { members: Members; field: string; hasFocus: boolean };

function Search({ members, field, hasFocus }: SearchProps) {
  const { found, start, action } = members;
  const isSearching = start.value !== '';
  const known = new Set(members.list.rows.value.map(({ id }) => id));
  const others = found.rows.value.filter(({ id }) => !known.has(id));
  return (
    <>
      <label class="field">
        {texts.findUser}
        <input
          id={field}
          type="search"
          autocomplete="off"
          value={start.value}
          ref={hasFocus ? focusAtOnce : null}
          onInput={(event) => members.search(event.currentTarget.value)}
        />
      </label>
      <p class="error" role="status">
        {isSearching ? (found.failure.value ?? '') : ''}
      </p>
      {isSearching && (
        <div class="row">
          {others.map((row) => (
            <ActionButton
              key={row.id}
              action={action}
              label={texts.addMember(row.item.value.username)}
              onPress={() => {
                void members.add(row).then((isAdded) => {
                  if (isAdded) focusIfLost(field);
                });
              }}
            />
          ))}
          {others.length === 0 && !found.isReading.value && <span class="quiet">{texts.noUser}</span>}
          {!found.isWhole.value && others.length > 0 && (
            <button type="button" onClick={() => void found.more()}>
              {texts.more}
            </button>
          )}
        </div>
      )}
    </>
  );
}
