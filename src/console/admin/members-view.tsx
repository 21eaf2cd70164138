// Shows the members of one talkgroup, with a search for users to add.
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import { Frame } from './frame.js';
import type { Row } from './list.js';
import type { Members } from './members.js';
import { ActionButton, focusAtOnce, focusSoon, ListView, Said } from './parts.js';
import type { Member } from './rows.js';
import { texts } from './texts.js';

export function MembersView({
  members,
  id,
  name,
  onClose,
}: {
  members: Members;
  /** Of the talkgroup. */
  id: string;
  name: string;
  onClose: () => void;
}) {
  members.list.open();
  const field = `add-to-${id}`;
  const { action } = members;
  return (
    <Frame title={texts.membersOf(name)} onClose={onClose}>
      <Search members={members} field={field} />
      <Said action={action} />
      <ListView
        list={members.list}
        label={texts.membersOf(name)}
        render={(row) => <MemberRow row={row} members={members} talkgroup={name} field={field} />}
      />
    </Frame>
  );
}

function MemberRow({
  row,
  members,
  talkgroup,
  field,
}: {
  row: Row<Member>;
  members: Members;
  talkgroup: string;
  field: string;
}) {
  const { user, site, keys } = row.item.value;
  const takeOut = async () => {
    if (!(await ask(texts.reallyTakeOut(user.username, talkgroup)))) return;
    if (await members.remove(row)) focusSoon(field);
  };
  const mayHave = keys?.may_have_keys === true;
  const permit = {
    text: mayHave ? texts.takeKeys(user.username) : texts.allowKeys(user.username),
    onPress: () => void members.permitKeys(row, !mayHave),
  };
  const items = [
    ...(keys === null ? [] : [permit]),
    { text: texts.removeMember, onPress: () => void takeOut() },
  ];
  return (
    <div class="admin-member">
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

function Search({ members, field }: { members: Members; field: string }) {
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
          ref={focusAtOnce}
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
                  if (isAdded) focusSoon(field);
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
