// The buttons that replay a call and stop the replay. A button stays in its place and keeps the focus in every state.
import { useComputed } from '@preact/signals';
import { Icon } from '../icons/icon.js';
import type { RecentBurst } from '../worker/messages.js';
import type { Call, ReplayState } from './state.js';
import { replay as words } from './texts.js';

export type LastProps = { talkgroupId: string; name: string; tabIndex?: number };
/** `time`: when the call ended. */
export type RowProps = { row: RecentBurst; time: string; tabIndex: number };

/** Components that show the state. */
export function createButtons(state: ReplayState) {
  return {
    /** Replays the last call in a talkgroup, and stops the replay of any call there. */
    Last({ talkgroupId, name, tabIndex }: LastProps) {
      const call = useComputed(() => state.newest.value.get(talkgroupId)).value;
      const isPlaying = useComputed(() => state.playing.value?.talkgroupId === talkgroupId).value;
      const reason = words.none;
      return <Button {...{ state, call, isPlaying, reason, tabIndex }} name={words.last(name)} />;
    },
    /** Replays the call of a row. Nothing for a call that was not heard here. */
    Row({ row, time, tabIndex }: RowProps) {
      const { callId, username, talkgroup } = row;
      const call = useComputed(() => state.calls.value.get(callId ?? -1)).value;
      const isPlaying = useComputed(
        () => callId !== undefined && state.playing.value?.callId === callId,
      ).value;
      if (callId === undefined) return null;
      const name = words.one(username, talkgroup, time);
      return <Button {...{ state, call, isPlaying, name, tabIndex }} reason={words.forgotten} />;
    },
  };
}

type ButtonProps = {
  state: ReplayState;
  call: Call | undefined;
  isPlaying: boolean;
  name: string;
  /** Why there is no call. */
  reason: string;
  tabIndex: number | undefined;
};

function Button({ state, call, isPlaying, name, reason, tabIndex }: ButtonProps) {
  const label = isPlaying ? words.stop : name;
  const isOff = !isPlaying && call === undefined;
  return (
    <button
      type="button"
      class="replay"
      aria-label={label}
      title={isOff ? reason : label}
      aria-disabled={isOff}
      {...(tabIndex !== undefined && { tabIndex })}
      onClick={() => {
        if (isPlaying) state.stop();
        else if (call !== undefined) state.play(call);
      }}
    >
      <Icon name={isPlaying ? 'x' : 'history'} />
    </button>
  );
}
