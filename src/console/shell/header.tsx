// Shows the mark, the tabs, the connection, the time of day, and the menu of the account.
import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { logOut } from '../app/session.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { Menu } from '../menu/menu.js';
import { TabBar } from './tab-bar.js';
import { shell as words } from './texts.js';

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
      <div class="header-end">
        <Connection desk={desk} />
        <Clock />
        <AccountMenu desk={desk} />
      </div>
    </header>
  );
}

/** The strip says why there is no connection, and when the console tries again. */
function Connection({ desk }: { desk: Desk }) {
  const view = desk.connection.value;
  const { text, isTrouble } = connectionText(view, Number.POSITIVE_INFINITY);
  const isOpen = view.state === 'open';
  return (
    <div class="connection" title={text}>
      <p class={isTrouble ? 'trouble' : 'fine'} aria-hidden="true">
        <Icon name={isOpen ? 'wifi' : 'wifi-off'} />
        <span class="line name">{isOpen || view.close === null ? text : words.notConnected}</span>
      </p>
      <p role="status" aria-label={texts.connection.label} class="visually-hidden">
        {text}
      </p>
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

/** As `14:05:32`, local. */
export const timeText = (time: Date): string => time.toLocaleTimeString('en-GB');

function AccountMenu({ desk }: { desk: Desk }) {
  const { account: names } = texts;
  const { username } = desk.account;
  return (
    <Menu
      class="account"
      name={`${username}, ${names.label}`}
      items={[
        {
          text: names.settings,
          onPress() {
            desk.isSettingsOpen.value = true;
          },
        },
        { text: names.logOut, onPress: () => logOut('by_user') },
      ]}
    >
      <Icon name="user" />
      <bdi class="name line">{username}</bdi>
      <Icon name="chevron-down" />
    </Menu>
  );
}
