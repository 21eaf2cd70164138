// Shows the members of a talkgroup in a panel: those online, and for administrators all of them.
import { useEffect, useRef } from 'preact/hooks';
import { systemClock } from '../../client/clock.js';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { Dialog } from '../dialogs/dialog.js';
import { createMemberAdmin, type MemberAdmin } from './admin-state.js';
import { AllMembers } from './admin-view.js';
import { createOnline, type Online } from './state.js';
import { members as words } from './texts.js';

type Opened = { id: string; online: Online; admin: MemberAdmin | null; close(): void };

/** What the open dialog shows. It ends with the dialog. */
let opened: Opened | null = null;

export default function MembersDialog() {
  const desk = currentDesk.value;
  const id = desk?.membersOf.value ?? null;
  if (desk === null || id === null) return null;
  const { online, admin } = openedFor(desk, id);
  const { opened: connections } = desk.connection.value;
  const before = useRef(connections);
  useEffect(() => {
    if (before.current !== connections) online.askAnew();
    before.current = connections;
  }, [online, connections]);
  const name = desk.talkgroups.tile(id)?.view.value.name ?? '';
  return (
    <Dialog key={id} name={words.title(name)} isPanel onClose={close}>
      <OnlineMembers online={online} />
      {admin !== null && <AllMembers admin={admin} talkgroup={name} />}
    </Dialog>
  );
}

function openedFor({ link, account }: Desk, id: string): Opened {
  if (opened?.id === id) return opened;
  const online = createOnline(id, link.request, systemClock);
  const stop = link.onMessage(online.take);
  opened = {
    id,
    online,
    admin: account.role === 'admin' ? createMemberAdmin(id, account.rest) : null,
    close() {
      stop();
      online.close();
    },
  };
  return opened;
}

function close(): void {
  opened?.close();
  opened = null;
  if (currentDesk.value !== null) currentDesk.value.membersOf.value = null;
}

function OnlineMembers({ online }: { online: Online }) {
  const { members, hasMore, phase } = online;
  return (
    <section class="field">
      <h3>{words.online(online.online.value)}</h3>
      <ul class="list">
        {members.value.map(({ session, username, site }) => (
          <li key={session}>
            <bdi class="name">{username}</bdi>
            <bdi class="quiet name">{words.site(site)}</bdi>
          </li>
        ))}
      </ul>
      {phase.value === 'loading' && <p class="quiet">{texts.loading}</p>}
      {phase.value === 'ready' && members.value.length === 0 && <p class="quiet">{words.none}</p>}
      {phase.value === 'failed' && (
        <p role="alert" class="error">
          {words.failed}
        </p>
      )}
      {(hasMore.value || phase.value === 'failed') && phase.value !== 'loading' && (
        <button type="button" onClick={online.more}>
          {phase.value === 'failed' ? texts.tryAgain : words.more}
        </button>
      )}
    </section>
  );
}
