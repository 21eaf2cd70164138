// Shows the console of an account: header, banners, alarms, tabs, talk bar and dialogs.
import { EmergencyPlace } from '../alarms/emergency-button.js';
import { AlarmList } from '../alarms/view.js';
import { asked } from '../dialogs/state.js';
import { KeysBanner } from '../keys/banner.js';
import { TalkBar } from '../talk/view.js';
import { Banners } from './banners.js';
import { desk } from './desk.js';
import { Header } from './header.js';
import { Lazy } from './lazy.js';
import { openDesk, opening } from './opening.js';
import { keepSteady } from './steady.js';
import { TabBar, TabPanel } from './tab-bar.js';
import { texts } from './texts.js';

const loadSettings = () => import('../settings/view.js');
const loadMembers = () => import('../members/view.js');
const loadQuestion = () => import('../dialogs/view.js');
const loadKeys = () => import('../keys/view.js');

void openDesk(); // shows its own failures

export default function Shell() {
  const now = desk.value;
  if (now === null) return <Opening />;
  const hasDialog = now.isSettingsOpen.value || now.membersOf.value !== null;
  return (
    <>
      <Header desk={now} />
      <div class="notices" ref={keepSteady}>
        <Banners desk={now} />
        <KeysBanner desk={now} />
      </div>
      <AlarmList desk={now} />
      <main class="view">
        <TabBar account={now.account} />
        <TabPanel account={now.account} />
      </main>
      <div class="dock">
        <TalkBar desk={now} />
        <EmergencyPlace desk={now} />
      </div>
      <div class="late">
        {now.isSettingsOpen.value && <Lazy key="settings" load={loadSettings} />}
        {now.membersOf.value !== null && <Lazy key="members" load={loadMembers} />}
        {/* Not over another dialog, and not while a talk button is held. */}
        {now.keys.isAsking.value && !now.talking.isHeld.value && !hasDialog && (
          <Lazy key="keys" load={loadKeys} />
        )}
        {asked.value !== null && <Lazy key="question" load={loadQuestion} />}
      </div>
    </>
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
