// Shows what is rarely needed of a talkgroup: what its lock says, volume, favourite, members, encryption, emergency.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { EmergencyInMenu } from '../alarms/emergency-button.js';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import { keys } from '../keys/texts.js';
import { FavouriteButton } from './favourite.js';
import { mayChooseEncryption, talkerLock, talkgroupLock } from './lock-words.js';
import type { Tile } from './state.js';
import { tiles as own } from './texts.js';

const { talkgroups: words } = texts;
const { lock: lockWords } = keys;

/** From the edges of the window (CSS px). */
const MARGIN = 8;
/** The keys 1 to 9 select favourites. */
const KEYS = 9;

export default function TileMenu() {
  const desk = currentDesk.value;
  const tile = desk?.talkgroups.tile(desk.grid.menuOf.value ?? '');
  if (desk == null || tile === undefined) return null;
  return <Popup key={tile.id} tile={tile} desk={desk} />;
}

type Props = { tile: Tile; desk: Desk };

/** Above everything, so that neither the tile nor the view cuts it. Escape and a press elsewhere close it. */
function Popup({ tile, desk }: Props) {
  const menu = useRef<HTMLDivElement>(null);
  const { name, floorMode, online } = tile.view.value;
  const key = desk.grid.favourites.value.indexOf(tile.id) + 1;
  const close = () => {
    if (menu.current?.contains(document.activeElement)) openerOf(tile)?.focus();
    if (desk.grid.menuOf.peek() === tile.id) desk.grid.menuOf.value = null;
  };
  useLayoutEffect(() => {
    const { current: shown } = menu;
    const opener = openerOf(tile);
    if (shown === null || opener === null) return close();
    place(shown, opener);
    shown.querySelector<HTMLElement>('button, input')?.focus();
    const isInside = (target: EventTarget | null, element: HTMLElement) =>
      target instanceof Node && element.contains(target);
    const pressed = ({ target }: Event) => {
      if (!isInside(target, shown) && !isInside(target, opener)) close();
    };
    // The tile moves, and the menu would stay.
    const scrolled = ({ target }: Event) => {
      if (target instanceof Node && target.contains(opener)) close();
    };
    addEventListener('pointerdown', pressed, true);
    addEventListener('scroll', scrolled, true);
    addEventListener('resize', close);
    return () => {
      removeEventListener('pointerdown', pressed, true);
      removeEventListener('scroll', scrolled, true);
      removeEventListener('resize', close);
    };
  }, []);
  return (
    <div
      ref={menu}
      role="dialog"
      aria-label={own.more(name)}
      data-talkgroup={tile.id}
      class="tile-menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        // The opener closes it by its own click.
        const isOpener = relatedTarget === openerOf(tile);
        if (relatedTarget instanceof Node && !isOpener && !currentTarget.contains(relatedTarget)) close();
      }}
    >
      <p class="quiet">
        {words.mode[floorMode]} · {words.online(online)}
        {key > 0 && key <= KEYS && ` · ${own.favouriteKey(key)}`}
      </p>
      <FavouriteButton tile={tile} desk={desk}>
        {own.favouriteShort}
      </FavouriteButton>
      <button
        type="button"
        aria-label={words.members(name)}
        onClick={() => {
          close();
          desk.membersOf.value = tile.id;
        }}
      >
        <Icon name="users" />
        {words.short.members}
      </button>
      <EncryptButton tile={tile} desk={desk} />
      <label class="volume">
        <span aria-hidden="true">{words.short.volume}</span>
        <input
          type="range"
          aria-label={words.volume(name)}
          min={0}
          max={100}
          value={Math.round(tile.volume.value * 100)}
          onInput={(event) => desk.talkgroups.setVolume(tile, event.currentTarget.valueAsNumber / 100)}
        />
      </label>
      <EmergencyInMenu tile={tile} desk={desk} />
      {/* Last, because it comes and goes with the talkers. */}
      <LockWords tile={tile} desk={desk} />
    </div>
  );
}

const openerOf = ({ id }: Tile) => document.getElementById(`more-${id}`);

/** Below the opener, or above it where there is more room. */
function place(menu: HTMLElement, opener: HTMLElement): void {
  const at = opener.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const isBelow = at.bottom + height + MARGIN <= innerHeight;
  const left = Math.min(Math.max(MARGIN, at.right - width), innerWidth - width - MARGIN);
  menu.style.left = `${left}px`;
  menu.style.top = `${Math.max(MARGIN, isBelow ? at.bottom : at.top - height)}px`;
}

/** The whole sentences of what the tile says in a word. */
function LockWords({ tile, desk }: Props) {
  const view = tile.view.value;
  const lock = talkgroupLock(view, tile.isEncrypting.value, desk.keys.phase.value);
  const sentences = view.talkers
    .map((talker) => ({ talker, ...talkerLock(talker, view, tile.isEncrypting.value) }))
    .filter(({ tone }) => tone === 'alarm');
  return (
    <>
      {lock !== null && (
        <p class={lock.isLocked ? 'safe' : 'unsafe'}>
          {lock.text}
          {lock.mustConfirm && (
            <button
              type="button"
              aria-label={lockWords.confirm(view.name)}
              onClick={() => desk.link.send({ kind: 'confirm_clear', talkgroupId: tile.id })}
            >
              {lockWords.confirmShort}
            </button>
          )}
        </p>
      )}
      {sentences.map(({ talker, text, hint }) => (
        <p key={talker.session} class="unsafe">
          <bdi>{talker.username}</bdi>: {text}. {hint}
        </p>
      ))}
    </>
  );
}

function EncryptButton({ tile, desk }: Props) {
  const { encryption, name } = tile.view.value;
  const isOn = tile.isEncrypting.value;
  if (!mayChooseEncryption(encryption, isOn)) return null;
  return (
    <button
      type="button"
      aria-label={lockWords.encrypt(name)}
      aria-pressed={isOn}
      onClick={() => desk.talkgroups.encrypt(tile, !isOn)}
    >
      <Icon name="lock" />
      {lockWords.encryptShort}
    </button>
  );
}
