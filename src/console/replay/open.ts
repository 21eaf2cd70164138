// Opens the replays of the page with the first call: the sound, the keys and the buttons.
import { computed, effect, type ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { systemClock } from '../../client/clock.js';
import type { Sound } from '../../client/sound/sound-types.js';
import type { Link } from '../app/link.js';
import { placeOf, tileWith } from '../keyboard/place.js';
import type { SettingsState } from '../settings/state.js';
import type { Talking } from '../talk/state.js';
import type { Talkgroups } from '../talkgroups/state.js';
import type { ReplayLine } from '../worker/messages.js';
import { createButtons, type LastProps, type RowProps } from './buttons.js';
import { readReplayKey } from './keys.js';
import { ownChoice } from './own-choice.js';
import { type Call, createReplayState, type ReplayState } from './state.js';
import { replay as words } from './texts.js';

export type Replay = Pick<
  ReplayState,
  'heard' | 'take' | 'playing' | 'isPaused' | 'playRecording' | 'pause' | 'stop'
> & {
  /** What the console tells the user of a replay. null: nothing. */
  readonly notice: ReadonlySignal<{
    text: string;
    isError: boolean;
    key?: string;
    button: Button | null;
    more?: readonly Button[];
  } | null>;
  readonly Last: ComponentType<LastProps>;
  readonly Row: ComponentType<RowProps>;
};

type Button = { text: string; press(): void };

export type ReplayParts = {
  link: Pick<Link, 'send'>;
  sound: Pick<Sound, 'add' | 'setVolume'>;
  talkgroups: Talkgroups;
  talking: Pick<Talking, 'isHeld'>;
  settings: SettingsState;
};

/** Of recordings one behind the other: the buttons stay, and keep the focus. */
const LIST = 'recordings';
const LINE: ReplayLine = 'replay';
/** How loud live speech is during a replay. */
const LIVE_SHARE = 0.5;

/** Listens to the keys until the page is left. */
export function openReplay({ link, sound, talkgroups, talking, settings }: ReplayParts): Replay {
  const state = createReplayState(
    {
      send: link.send,
      isMuted: (id) => talkgroups.tile(id)?.isMuted.peek() ?? true,
      isTalking: () => talking.isHeld.peek(),
      unixMs: Date.now,
    },
    systemClock,
  );
  const { playing, isPaused, text, heard, take, playRecording, pause, stop } = state;
  const port = sound.add(LINE);
  link.send({ kind: 'voice', talkgroupId: LINE, port }, [port]);
  effect(() => {
    const share = playing.value === null || isPaused.value ? 1 : LIVE_SHARE;
    for (const { id, volume } of talkgroups.tiles.value) sound.setVolume(id, volume.value * share);
  });
  addEventListener('keydown', keyDown);
  return {
    ...{ heard, take, playing, isPaused, playRecording, pause, stop },
    ...createButtons(state),
    notice: computed(() =>
      text.value === null
        ? null
        : {
            text: text.value,
            isError: false,
            ...buttonsOf(playing.value),
          },
    ),
  };

  /** Pause, of a recording, before stop. */
  function buttonsOf(call: Call | null): {
    button: Button | null;
    more?: readonly Button[];
    key?: string;
  } {
    const end = { text: words.stop, press: stop };
    if (call === null) return { button: null };
    if (call.callId >= 0) return { button: end };
    const still = isPaused.value;
    return {
      button: { text: still ? words.goOn : words.pause, press: () => pause(!still) },
      more: [end],
      key: LIST,
    };
  }

  function keyDown(event: KeyboardEvent): void {
    if (event.defaultPrevented) return;
    const { activeElement: focused } = document;
    const { isText, isInDialog } = placeOf(focused);
    if (event.key === 'Escape' && !isInDialog && playing.peek() !== null) return stop();
    const press = readReplayKey(event, {
      ...settings.settings.peek(),
      replayKey: ownChoice.key.peek(),
      isElsewhere: isText || isInDialog,
    });
    if (press === null) return;
    event.preventDefault();
    const id = tileWith(focused);
    if (press === 'last') state.playLast(id);
    else state.playBefore(id);
  }
}
