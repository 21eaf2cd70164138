// The upper end of the screen: the talkgroup with the list of all, how it is protected, mute, and the menu.
import { clockText } from '../app/ages.js';
import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { show } from '../app/places.js';
import { logOut } from '../app/session.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { keys } from '../keys/texts.js';
import { Menu, type MenuItem } from '../menu/menu.js';
import { mayChooseEncryption, talkgroupLock } from '../talkgroups/lock-words.js';
import { MuteButton } from '../talkgroups/mute.js';
import type { Tile } from '../talkgroups/state.js';
import type { Phone } from './state.js';
import { phone as words } from './texts.js';

const { talkgroups } = texts;
const { lock } = keys;

/** `hasCard`: the talker is shown below it. */
type HeadProps = { desk: Desk; phone: Phone; hasCard: boolean };

export function Head({ desk, phone, hasCard }: HeadProps) {
  const tile = phone.ring.current.value;
  return (
    <header class="phone-head" data-region="header">
      <h1 class="visually-hidden">{texts.title}</h1>
      <div class="phone-title">
        {tile !== null && <Choice phone={phone} tile={tile} />}
        <Facts desk={desk} phone={phone} hasCard={hasCard} />
      </div>
      {tile !== null && <MuteButton desk={desk} tile={tile} />}
      <More desk={desk} tile={tile} />
      <p role="status" aria-label={texts.connection.label} class="visually-hidden">
        {connectionText(desk.connection.value, Number.POSITIVE_INFINITY).text}
      </p>
    </header>
  );
}

/** The list of the system lies over the name, without a look of its own. */
function Choice({ phone: { ring }, tile }: { phone: Phone; tile: Tile }) {
  return (
    <div class="phone-choice">
      <bdi class="name line">{tile.view.value.name}</bdi>
      <Icon name="chevron-down" />
      <select
        aria-label={words.talkgroup}
        value={tile.id}
        onChange={({ currentTarget }) => {
          const chosen = ring.tiles.peek().find(({ id }) => id === currentTarget.value);
          if (chosen !== undefined) ring.choose(chosen);
          currentTarget.value = ring.current.peek()?.id ?? ''; // it stays during a talk
        }}
      >
        {ring.tiles.value.map(({ id, view }) => (
          <option key={id} value={id}>
            {view.value.name}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Trouble with the connection, else the talker in a view that has no place for it, else the facts of the talkgroup. */
function Facts({ desk, phone, hasCard }: HeadProps) {
  const connection = desk.connection.value;
  const { text, isTrouble } = connectionText(connection, connection.state === 'waiting' ? nowMs.value : 0);
  if (isTrouble) return <p class="line name phone-trouble">{text}</p>;
  const heard = hasCard ? null : phone.heard.value;
  if (heard !== null) {
    const { talker, tile } = heard;
    const clock = clockText(nowMs.value - talker.startedAtMs);
    return (
      <p class="line name phone-talks">
        <Icon name={talker.isOwn ? 'radio' : 'audio-lines'} />
        <Phrase
          say={(name = '', group = '') => words.talkIn(name, group, clock)}
          names={[talker.isOwn ? words.you : talker.username, tile.view.value.name]}
        />
      </p>
    );
  }
  const tile = phone.ring.current.value;
  if (tile === null) return <p class="quiet">{words.none}</p>;
  const count = desk.talkgroups.selected.value.length;
  return (
    <p class="line name quiet">
      <Lock desk={desk} tile={tile} />
      {count > 1 && `${texts.talk.selected(count)} · `}
      {talkgroups.online(tile.view.value.online)}
    </p>
  );
}

function Lock({ desk, tile }: { desk: Desk; tile: Tile }) {
  const text = talkgroupLock(tile.view.value, tile.isEncrypting.value, desk.keys.phase.value);
  if (text === null) return null;
  if (text.tone === 'alarm') return <strong class="error">{text.text} </strong>;
  return (
    <>
      <Icon name="lock" />
      {`${lock.encrypted} · `}
    </>
  );
}

function More({ desk, tile }: { desk: Desk; tile: Tile | null }) {
  const { username, mayDispatch } = desk.account;
  const items: MenuItem[] = [
    ...(tile === null ? [] : itemsOf(desk, tile)),
    { text: texts.tabs.recordings, onPress: () => show('recordings') },
    { text: texts.account.settings, onPress: () => show('settings') },
    ...(mayDispatch.value ? [{ text: texts.tabs.admin, onPress: () => show('admin') }] : []),
    { text: texts.account.logOut, onPress: () => logOut('by_user') },
  ];
  return <Menu name={words.more(tile?.view.value.name ?? words.none, username)} items={items} />;
}

function itemsOf(desk: Desk, tile: Tile): MenuItem[] {
  const { name, encryption } = tile.view.value;
  const isOn = tile.isEncrypting.value;
  const text = talkgroupLock(tile.view.value, isOn, desk.keys.phase.value);
  const members: MenuItem = {
    text: talkgroups.short.members,
    name: talkgroups.members(name),
    onPress() {
      desk.membersOf.value = tile.id;
    },
  };
  const encrypt: MenuItem = {
    text: isOn ? words.doNotEncryptShort : words.encrypt,
    name: isOn ? words.doNotEncrypt(name) : lock.encrypt(name),
    onPress: () => desk.talkgroups.encrypt(tile, !isOn),
  };
  const confirm: MenuItem = {
    text: lock.confirmShort,
    name: lock.confirm(name),
    onPress: () => desk.link.send({ kind: 'confirm_clear', talkgroupId: tile.id }),
  };
  return [
    members,
    ...(mayChooseEncryption(encryption, isOn) ? [encrypt] : []),
    ...(text?.mustConfirm ? [confirm] : []),
  ];
}
