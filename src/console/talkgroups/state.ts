// Keeps the talkgroups of the page: what the worker reports of each, and how the user hears it.
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Sound } from '../../client/sound/sound-types.js';
import type { Changes, TalkgroupView } from '../worker/messages.js';

/** One talkgroup. Each part is a signal of its own, so that a talker of one tile renders no other tile. */
export type Tile = {
  readonly id: string;
  readonly view: Signal<TalkgroupView>;
  readonly isSelected: Signal<boolean>;
  readonly isMuted: Signal<boolean>;
  /** From 0 to 1. */
  readonly volume: Signal<number>;
  /** The user encrypts here, where it is not required. */
  readonly isEncrypting: Signal<boolean>;
};

export type Talkgroups = {
  /** Sorted by name. */
  readonly tiles: ReadonlySignal<readonly Tile[]>;
  readonly selected: ReadonlySignal<readonly Tile[]>;
  tile(id: string): Tile | undefined;
  take(changes: Pick<Changes, 'talkgroups' | 'left'>): void;
  select(tile: Tile, isSelected: boolean): void;
  mute(tile: Tile, isMuted: boolean): void;
  setVolume(tile: Tile, volume: number): void;
  encrypt(tile: Tile, isEncrypting: boolean): void;
  /** Where selected and other talkgroups are heard. */
  split(isSplit: boolean): void;
};

/** What the user chose for a talkgroup, kept over a reload. */
export type Choice = { isSelected: boolean; isMuted: boolean; volume: number; isEncrypting: boolean };
export type Choices = { read(id: string): Choice | null; write(id: string, choice: Choice): void };

type SoundOfTiles = Pick<Sound, 'setVolume' | 'setMuted' | 'setSide'>;
/** `added`: connects the sound of a talkgroup. `removed`: the user has left it. */
export type TalkgroupsOwner = {
  added(id: string): void;
  removed(id: string): void;
  /** The user wants to encrypt in the talkgroup, or not any more. */
  encrypts(id: string, isOn: boolean): void;
};

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

export function createTalkgroups(sound: SoundOfTiles, choices: Choices, owner: TalkgroupsOwner): Talkgroups {
  const byId = new Map<string, Tile>();
  const tiles: Signal<readonly Tile[]> = signal([]);
  const selected = computed(() => tiles.value.filter(({ isSelected }) => isSelected.value));
  let isSplit = false;

  return {
    tiles,
    selected,
    tile: (id) => byId.get(id),
    take: ({ talkgroups, left }) => batch(() => take(talkgroups, left)),
    select(tile, isSelected) {
      tile.isSelected.value = isSelected;
      placeOf(tile);
      keep(tile);
    },
    mute(tile, isMuted) {
      tile.isMuted.value = isMuted;
      sound.setMuted(tile.id, isMuted);
      keep(tile);
    },
    setVolume(tile, volume) {
      // First: a replay makes the talkgroup quieter when the signal changes.
      sound.setVolume(tile.id, volume);
      tile.volume.value = volume;
      keep(tile);
    },
    encrypt(tile, isEncrypting) {
      tile.isEncrypting.value = isEncrypting;
      owner.encrypts(tile.id, isEncrypting);
      keep(tile);
    },
    split(now) {
      isSplit = now;
      for (const tile of byId.values()) placeOf(tile);
    },
  };

  function take(talkgroups: readonly TalkgroupView[], left: readonly string[]): void {
    let isOrderNew = false;
    for (const id of left) {
      if (!byId.delete(id)) continue;
      isOrderNew = true;
      owner.removed(id);
    }
    for (const view of talkgroups) {
      const tile = byId.get(view.id);
      if (tile === undefined) add(view);
      isOrderNew ||= tile?.view.peek().name !== view.name;
      if (tile !== undefined) tile.view.value = view;
    }
    if (isOrderNew) tiles.value = [...byId.values()].sort(compare);
  }

  function add(view: TalkgroupView): void {
    const { id } = view;
    const { isSelected, isMuted, volume, isEncrypting } = choices.read(id) ?? {
      ...{ isSelected: false, isMuted: false, volume: 1, isEncrypting: false },
    };
    const tile: Tile = {
      ...{ id, view: signal(view), isSelected: signal(isSelected), isMuted: signal(isMuted) },
      ...{ volume: signal(volume), isEncrypting: signal(isEncrypting) },
    };
    byId.set(id, tile);
    owner.added(id);
    if (isEncrypting) owner.encrypts(id, true);
    sound.setVolume(id, volume);
    sound.setMuted(id, isMuted);
    placeOf(tile);
  }

  function placeOf({ id, isSelected }: Tile): void {
    sound.setSide(id, isSplit ? (isSelected.peek() ? 'selected' : 'unselected') : null);
  }

  function keep({ id, isSelected, isMuted, volume, isEncrypting }: Tile): void {
    choices.write(id, {
      ...{ isSelected: isSelected.peek(), isMuted: isMuted.peek(), volume: volume.peek() },
      isEncrypting: isEncrypting.peek(),
    });
  }
}

const compare = (one: Tile, other: Tile) =>
  byName.compare(one.view.peek().name, other.view.peek().name) || (one.id < other.id ? -1 : 1);
