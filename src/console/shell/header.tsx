// Shows the mark, the tabs, the connection, the time of day, and the menu of the account.

import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { show } from '../app/places.js';
import { logOut } from '../app/session.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { timeText } from '../app/time-of-day.js';
import { Find } from '../find/view.js';
import { Icon } from '../icons/icon.js';
import { Menu } from '../menu/menu.js';
import { Meter } from '../sound/meter.js';
import { TabBar } from './tab-bar.js';

export function Header({ desk }: { desk: Desk }) {
  return (
    <header class="header" data-region="header">
      <h1>
        <span class="mark">
          <Icon name="radio-tower" />
        </span>
        <span class="title">{texts.title}</span>
      </h1>
      <TabBar account={desk.account} />
      <div class="find">
        <Find desk={desk} />
      </div>
      <div class="header-end">
        <Connection desk={desk} />
        <Microphone desk={desk} />
        <Clock />
        <AccountMenu desk={desk} />
      </div>
    </header>
  );
}

/** The strip says why there is no connection, and when the console tries again. */
function Connection({ desk }: { desk: Desk }) {
  const view = desk.connection.value;
  const { text, isTrouble } = connectionText(view, Number.POSITIVE_INFINITY, desk.isAgain.value);
  const isOpen = view.state === 'open';
  return (
    <div class="connection" title={text}>
      <p class={isTrouble ? 'trouble' : 'fine'} aria-hidden="true">
        <Icon name={isOpen ? 'wifi' : 'wifi-off'} />
        <span class="line name">{isOpen || view.close === null ? text : texts.connection.off}</span>
      </p>
      <p role="status" aria-label={texts.connection.label} class="visually-hidden">
        {text}
      </p>
    </div>
  );
}

/** How loud the microphone is, while it is open. */
function Microphone({ desk: { microphone } }: { desk: Desk }) {
  const isOpen = microphone.state.value === 'open';
  return (
    <div class={`microphone ${isOpen ? '' : 'quiet'}`} aria-hidden="true">
      <Icon name={isOpen ? 'mic' : 'mic-off'} />
      <Meter level={microphone.level} bars={8} />
    </div>
  );
}

function Clock() {
  const now = new Date(nowMs.value);
  return (
    <time class="clock" dateTime={now.toISOString()}>
      {timeText(now)}
    </time>
  );
}

function AccountMenu({ desk }: { desk: Desk }) {
  const { account: names } = texts;
  const { username } = desk.account;
  return (
    <Menu
      class="account"
      name={`${username}, ${names.label}`}
      items={[
        { text: names.settings, onPress: () => show('settings') },
        { text: names.logOut, onPress: () => logOut('by_user') },
      ]}
    >
      <Icon name="user" />
      <bdi class="name line">{username}</bdi>
      <Icon name="chevron-down" />
    </Menu>
  );
}
