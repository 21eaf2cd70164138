// Shows the members of one talkgroup, with a search for users to add.
import { ask } from '../dialogs/state.js';
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
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      class="admin-panel"
      role="group"
      aria-label={texts.membersOf(name)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <Search members={members} field={field} />
      <Said action={action} />
      <ListView
        list={members.list}
        label={texts.membersOf(name)}
        render={(row) => {
          const { user, site } = row.item.value;
          return (
            <div class="row admin-member">
              <span class="name">{user.username}</span>
              <span class="quiet name">{site}</span>
              <KeysOf row={row} members={members} />
              <ActionButton
                action={action}
                label={texts.removeMember(user.username)}
                onPress={async () => {
                  if (!(await ask(texts.reallyRemove(user.username, name)))) return;
                  if (await members.remove(row)) focusSoon(field);
                }}
              />
            </div>
          );
        }}
      />
      <div class="row">
        <button type="button" onClick={onClose}>
          {texts.done}
        </button>
      </div>
    </div>
  );
}

/** Nothing where encryption is not required. */
function KeysOf({ row, members }: { row: Row<Member>; members: Members }) {
  const { keys, user } = row.item.value;
  if (keys === null) return null;
  const mayHave = keys.may_have_keys;
  return (
    <>
      <span class={mayHave ? 'quiet' : 'error'}>{texts.mayHaveKeys(keys)}</span>
      <ActionButton
        action={members.action}
        label={mayHave ? texts.takeKeys(user.username) : texts.allowKeys(user.username)}
        onPress={() => void members.permitKeys(row, !mayHave)}
      />
    </>
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
