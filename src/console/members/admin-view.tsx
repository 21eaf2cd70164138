// Shows all members of a talkgroup to an administrator, and adds and takes out members.

import { texts } from '../app/texts.js';
import { ask } from '../dialogs/state.js';
import type { FoundUser, ListedMember, MemberAdmin } from './admin-state.js';
import { members as words } from './texts.js';

const { short } = words;

export function AllMembers({ admin, talkgroup }: { admin: MemberAdmin; talkgroup: string }) {
  const { members, hasMore, outcome } = admin;
  return (
    <section class="field">
      <h3>{words.all}</h3>
      <p role="status" class={outcome.value?.isError ? 'error' : 'quiet'}>
        {outcome.value?.text}
      </p>
      <ul class="list">
        {members.value?.map((member) => (
          <Member key={member.user_id} member={member} admin={admin} talkgroup={talkgroup} />
        ))}
      </ul>
      {members.value === null && outcome.value === null && <p class="quiet">{texts.loading}</p>}
      {hasMore.value && (
        <button type="button" onClick={admin.more}>
          {words.more}
        </button>
      )}
      <Search admin={admin} />
    </section>
  );
}

function Member({
  member: { user_id, user },
  admin,
  talkgroup,
}: {
  member: ListedMember;
  admin: MemberAdmin;
  talkgroup: string;
}) {
  const { username } = user;
  return (
    <li>
      <bdi class="name">{username}</bdi>
      <span class="row">
        <button
          type="button"
          aria-label={words.takeOut(username)}
          onClick={async () => {
            if (await ask(words.reallyTakeOut(username, talkgroup))) await admin.takeOut(user_id);
          }}
        >
          {short.takeOut}
        </button>
        <button
          type="button"
          aria-label={words.revoke(username)}
          onClick={async () => {
            if (await ask(words.reallyRevoke(username))) await admin.revoke(user_id);
          }}
        >
          {short.revoke}
        </button>
      </span>
    </li>
  );
}

function Search({ admin }: { admin: MemberAdmin }) {
  const found = admin.found.value;
  return (
    <>
      <h3>{words.add}</h3>
      <label class="field">
        {words.search}
        <input
          type="search"
          autocomplete="off"
          spellcheck={false}
          onChange={(event) => admin.search(event.currentTarget.value)}
        />
      </label>
      {found?.length === 0 && <p class="quiet">{words.noMatch}</p>}
      <ul class="list">
        {found?.map((user) => (
          <Found key={user.id} user={user} admin={admin} />
        ))}
      </ul>
    </>
  );
}

function Found({ user, admin }: { user: FoundUser; admin: MemberAdmin }) {
  return (
    <li>
      <bdi class="name">{user.username}</bdi>
      <button type="button" aria-label={words.addOne(user.username)} onClick={() => admin.add(user)}>
        {short.add}
      </button>
    </li>
  );
}
