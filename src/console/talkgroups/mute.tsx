// The button that mutes a talkgroup.
import type { ComponentProps } from 'preact';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import type { Tile } from './state.js';

type MuteProps = { tile: Tile; desk: Desk } & Pick<ComponentProps<'button'>, 'class' | 'title' | 'tabIndex'>;

export function MuteButton({ tile, desk, ...more }: MuteProps) {
  const isMuted = tile.isMuted.value;
  return (
    <button
      type="button"
      {...more}
      aria-label={texts.talkgroups.mute(tile.view.value.name)}
      aria-pressed={isMuted}
      onClick={() => desk.talkgroups.mute(tile, !isMuted)}
    >
      <Icon name={isMuted ? 'volume-x' : 'volume-2'} />
    </button>
  );
}
