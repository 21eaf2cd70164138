// Decides what the dock says of a replay and of missed calls, or asks of the user before sound, microphone and keys work: one
// thing at a time.
import type { Desk } from '../app/desk.js';
import { show } from '../app/places.js';
import { texts } from '../app/texts.js';
import { keys as keyTexts } from '../keys/texts.js';
import type { MicrophoneState } from '../talk/microphone.js';
import type { Notice } from './dock-line.js';

const { sound: words } = texts;

/** null: nothing is missing. `isSecure`: the browser gives sound and microphone to this page. */
export function noticeOf(desk: Desk, isSecure: boolean): Notice | null {
  if (!isSecure) return { text: texts.login.insecure, isError: false, button: null };
  return (
    desk.replay.value?.notice.value ??
    soundNotice(desk) ??
    desk.recordings.now.value?.notice.value ??
    microphoneNotice(desk) ??
    keysNotice(desk)
  );
}

function soundNotice({ soundState, startSound }: Desk): Notice | null {
  const state = soundState.value;
  if (state === 'on' || state === 'starting') return null;
  if (typeof state === 'object') {
    const button = state.mayRetry ? { text: texts.tryAgain, press: startSound } : null;
    return { text: words.failed(state.failed), isError: true, button };
  }
  return { text: words.isOff, isError: false, button: { text: words.start, press: startSound } };
}

function microphoneNotice({ microphone, settings }: Desk): Notice | null {
  const state = microphone.state.value;
  if (state === 'open' && microphone.isReplaced.value)
    return { text: words.replaced, isError: false, button: toSettings(texts.account.settings) };
  const isOnDemand = settings.settings.value.isMicrophoneOnDemand;
  if (state === 'open' || state === 'asking' || (state === 'closed' && isOnDemand)) return null;
  const isClosed = state === 'closed';
  return {
    text: microphoneText(state),
    isError: !isClosed,
    button: { text: isClosed ? words.allow : texts.tryAgain, press: microphone.open },
  };
}

function microphoneText(state: Exclude<MicrophoneState, 'open' | 'asking'>): string {
  return state === 'closed' ? words.ask : words.microphone[state];
}

const toSettings = (text: string) => ({ text, press: () => show('settings') });

function keysNotice({ keys, talkgroups }: Desk): Notice | null {
  // Asked only where it is shown: it reads every talkgroup, and so changes with each talk.
  const locked = () =>
    talkgroups.tiles.value.filter(
      ({ view, isEncrypting }) => view.value.encryption === 'required' || isEncrypting.value,
    ).length;
  const asking = (text: string, button: string): Notice => ({
    text,
    isError: false,
    button: { text: button, press: keys.ask },
  });
  if (keys.phase.value === 'needed') return asking(keyTexts.needed(locked()), keyTexts.setUp);
  if (keys.phase.value === 'impossible' && locked() > 0)
    return { text: keyTexts.impossible, isError: false, button: null };
  if (keys.phase.value === 'waiting') return asking(keyTexts.waitingShort, keyTexts.show);
  const waiting = keys.mayAccept.value ? keys.waiting.value : 0;
  if (waiting === 0) return null;
  return { text: keyTexts.othersWait(waiting), isError: false, button: toSettings(keyTexts.look) };
}
