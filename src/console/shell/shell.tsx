// Shows the console of an account: header, strip, view, side column, dock and dialogs.
import { type Desk, desk } from '../app/desk.js';
import { Lazy } from '../app/lazy.js';
import { openDesk, opening } from '../app/opening.js';
import { texts } from '../app/texts.js';
import { asked } from '../dialogs/state.js';
import { isListOpen } from '../keyboard/state.js';
import { TalkersSaid } from '../onair/said.js';
import { isPhone } from '../phone/layout.js';
import { withStylesheet } from '../stylesheets.js';
import { Dock } from './dock.js';
import { Header } from './header.js';
import { Side } from './side.js';
import { Strip } from './strip.js';
import { TabPanel } from './tab-bar.js';

const loadPhone = () => withStylesheet('phone/phone.css', import('../phone/view.js'));
const loadDialogs = () => import('./dialogs.js');

void openDesk(); // shows its own failures

export default function Shell() {
  const now = desk.value;
  if (now === null) return <Opening />;
  const hasDialog =
    now.membersOf.value !== null || now.keys.isAsking.value || isListOpen.value || asked.value !== null;
  return (
    <>
      {/* First: behind the regions it would make the page higher than the window. */}
      <TalkersSaid desk={now} />
      {isPhone.value ? <Lazy key="phone" load={loadPhone} /> : <Regions desk={now} />}
      <div class="late">{hasDialog && <Lazy key="dialogs" load={loadDialogs} />}</div>
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
