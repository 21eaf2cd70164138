// The administration tab: talkgroups, users and devices.
import { account } from '../app/session.js';
import { DevicesView } from './devices-view.js';
import { type Admin as AdminState, adminOf, type Section } from './state.js';
import { TalkgroupsView } from './talkgroups-view.js';
import { texts } from './texts.js';
import { UsersView } from './users-view.js';

const sections: readonly Section[] = ['talkgroups', 'users', 'devices'];

export default function Admin() {
  const current = account.value;
  if (current?.role !== 'admin') return <p>{texts.onlyAdministrators}</p>;
  const admin = adminOf(current.rest);
  const section = admin.section.value;
  return (
    <div class="admin">
      <nav class="row" aria-label={texts.sections}>
        {sections.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === section}
            onClick={() => {
              admin.section.value = name;
            }}
          >
            {texts[name]}
          </button>
        ))}
      </nav>
      <Shown admin={admin} section={section} />
    </div>
  );
}

function Shown({ admin, section }: { admin: AdminState; section: Section }) {
  if (section === 'users') return <UsersView users={admin.users} />;
  if (section === 'devices') return <DevicesView devices={admin.devices} />;
  return <TalkgroupsView talkgroups={admin.talkgroups} />;
}
