// Shows the members of a talkgroup in a panel: those online, and for administrators all of them.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../client/clock.js';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { Lazy } from '../app/lazy.js';
import { texts } from '../app/texts.js';
import { Dialog } from '../dialogs/dialog.js';
import { withStylesheet } from '../stylesheets.js';
import { createOnline } from './state.js';
import { members as words } from './texts.js';

const loadAll = () => withStylesheet('admin/admin.css', import('../admin/members-view.js'));

export default function MembersDialog() {
  const desk = currentDesk.value;
  const id = desk?.membersOf.value ?? null;
  if (desk === null || id === null) return null;
  const name = desk.talkgroups.tile(id)?.view.value.name ?? '';
  const close = () => {
    desk.membersOf.value = null;
  };
  return (
    <Dialog key={id} name={words.title(name)} isPanel onClose={close}>
      <OnlineMembers desk={desk} id={id} />
      {desk.account.mayDispatch.value && <Lazy load={loadAll} />}
    </Dialog>
  );
}

function OnlineMembers({ desk: { link, connection }, id }: { desk: Desk; id: string }) {
  const [online] = useState(() => createOnline(id, link.request, systemClock));
  // At once: PRESENCE may follow the answer.
  useLayoutEffect(() => {
    const stop = link.onMessage(online.take);
    return () => {
      stop();
      online.close();
    };
  }, [online, link]);
  const { opened } = connection.value;
  const before = useRef(opened);
  useEffect(() => {
    if (before.current !== opened) online.askAnew();
    before.current = opened;
  }, [online, opened]);
  const { members, hasMore, phase } = online;
  return (
    <section class="field">
      <h3>{words.online(online.online.value)}</h3>
      <ul class="list">
        {members.value.map(({ session, username, site }) => (
          <li key={session}>
            <bdi class="name">{username}</bdi>
            <bdi class="quiet name">{site}</bdi>
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
