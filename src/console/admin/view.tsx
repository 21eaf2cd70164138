// The administration tab: talkgroups, users and devices.
import { useEffect } from 'preact/hooks';
import { desk } from '../app/desk.js';
import { account } from '../app/session.js';
import { Icon } from '../icons/icon.js';
import { DevicesTable } from './devices-view.js';
import { type Admin as AdminState, adminOf, type Section } from './state.js';
import { TalkgroupSide, TalkgroupsTable } from './talkgroups-view.js';
import { texts } from './texts.js';
import { UserSide, UsersTable } from './users-view.js';

const sections: readonly Section[] = ['talkgroups', 'users', 'devices'];

export default function Admin() {
  const current = account.value;
  if (current === null || !current.mayDispatch.value) return <p>{texts.onlyDispatchers}</p>;
  return <Sections admin={adminOf(current)} />;
}

function Sections({ admin }: { admin: AdminState }) {
  useWantedCard(admin);
  const section = admin.section.value;
  return (
    <div class="admin">
      <div class="admin-main">
        <div class="admin-bar">
          <nav aria-label={texts.sections}>
            {sections
              .filter((name) => admin.isAdmin || name !== 'devices')
              .map((name) => (
                <button
                  key={name}
                  type="button"
                  class="admin-tab"
                  aria-pressed={name === section}
                  onClick={() => {
                    admin.section.value = name;
                  }}
                >
                  {texts[name]}
                </button>
              ))}
          </nav>
          {admin.isAdmin && <Creation admin={admin} section={section} />}
        </div>
        {section === 'talkgroups' && <TalkgroupsTable key={section} {...admin} />}
        {section === 'users' && <UsersTable key={section} {...admin} />}
        {section === 'devices' && <DevicesTable key={section} devices={admin.devices} />}
      </div>
      {section === 'talkgroups' && <TalkgroupSide talkgroups={admin.talkgroups} />}
      {section === 'users' && <UserSide {...admin} />}
    </div>
  );
}

/** Opens the card that was asked for elsewhere, such as by the field that finds users. */
function useWantedCard({ section, users }: AdminState): void {
  const wanted = desk.value?.cardOf;
  const id = wanted?.value ?? null;
  useEffect(() => {
    if (wanted === undefined || id === null) return;
    wanted.value = null;
    section.value = 'users';
    void users.openCard(id);
  }, [wanted, id, section, users]);
}

/** A device comes with the registration of a user that names its serial. */
function Creation({ admin, section }: { admin: AdminState; section: Section }) {
  if (section === 'devices') return null;
  return (
    <button
      type="button"
      class="primary"
      id="admin-new"
      onClick={() => {
        admin[section].table.side.value = { kind: 'new' };
      }}
    >
      <Icon name="plus" />
      {section === 'users' ? texts.newUser : texts.newTalkgroup}
    </button>
  );
}
