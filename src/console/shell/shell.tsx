// Shows the console of an account: header, strip, view, side column, dock and dialogs.
import { type Desk, desk } from '../app/desk.js';
import { Lazy } from '../app/lazy.js';
import { openDesk, opening } from '../app/opening.js';
import { texts } from '../app/texts.js';
import { asked } from '../dialogs/state.js';
import { isListOpen } from '../keyboard/state.js';
import { isPhone } from '../phone/layout.js';
import { Dock } from './dock.js';
import { Header } from './header.js';
import { Side } from './side.js';
import { Strip } from './strip.js';
import { TabPanel } from './tab-bar.js';
import { withStylesheet } from './tabs.js';

const loadPhone = () => withStylesheet('phone/phone.css', import('../phone/view.js'));
const loadMembers = () => import('../members/view.js');
const loadQuestion = () => import('../dialogs/view.js');
const loadKeyList = () => import('../keyboard/list.js');
const loadKeys = () => import('../keys/view.js');

void openDesk(); // shows its own failures

export default function Shell() {
  const now = desk.value;
  if (now === null) return <Opening />;
  return (
    <>
      {isPhone.value ? <Lazy key="phone" load={loadPhone} /> : <Regions desk={now} />}
      <div class="late">
        {now.membersOf.value !== null && <Lazy key="members" load={loadMembers} />}
        {/* Not over another dialog. */}
        {now.keys.isAsking.value && now.membersOf.value === null && <Lazy key="keys" load={loadKeys} />}
        {isListOpen.value && <Lazy key="key-list" load={loadKeyList} />}
        {asked.value !== null && <Lazy key="question" load={loadQuestion} />}
      </div>
    </>
  );
}

function Regions({ desk: now }: { desk: Desk }) {
  return (
    <div class={now.connection.value.state === 'open' ? 'shell' : 'shell offline'}>
      <Header desk={now} />
      <Strip desk={now} />
      <main class="view" data-region="view">
        <TabPanel desk={now} />
      </main>
      <Side desk={now} />
      <Dock desk={now} />
    </div>
  );
}

function Opening() {
  if (opening.value === null) return <p class="panel quiet">{texts.loading}</p>;
  return (
    <div class="panel" role="alert">
      <p>{texts.login.failed(opening.value)}</p>
      <button type="button" onClick={openDesk}>
        {texts.tryAgain}
      </button>
    </div>
  );
}
