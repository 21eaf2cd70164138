// Shows what the user must do before sound and microphone work.
import type { MicrophoneState } from '../talk/microphone.js';
import type { Desk } from './desk.js';
import { texts } from './texts.js';

const { sound: words } = texts;

export function Banners({ desk }: { desk: Desk }) {
  return (
    <section class="banners" aria-label={words.label}>
      {!isSecureContext && (
        <div class="banner">
          <p>{texts.login.insecure}</p>
        </div>
      )}
      {isSecureContext && <SoundBanner desk={desk} />}
      {isSecureContext && <MicrophoneBanner desk={desk} />}
    </section>
  );
}

function SoundBanner({ desk }: { desk: Desk }) {
  const state = desk.soundState.value;
  if (state === 'on' || state === 'starting') return null;
  if (typeof state === 'object') {
    return (
      <div class="banner" role="alert">
        <p>{words.failed(state.failed)}</p>
      </div>
    );
  }
  return (
    <div class="banner">
      <p>{words.isOff}</p>
      <button type="button" class="primary" onClick={desk.startSound}>
        {words.start}
      </button>
    </div>
  );
}

function MicrophoneBanner({ desk: { microphone, settings } }: { desk: Desk }) {
  const state = microphone.state.value;
  const isOnDemand = settings.settings.value.isMicrophoneOnDemand;
  if (state === 'open' || state === 'asking' || (state === 'closed' && isOnDemand)) return null;
  return (
    <div class="banner" role={state === 'closed' ? undefined : 'alert'}>
      <p>{microphoneText(state)}</p>
      <button type="button" class="primary" onClick={microphone.open}>
        {state === 'closed' ? words.allow : texts.tryAgain}
      </button>
    </div>
  );
}

function microphoneText(state: Exclude<MicrophoneState, 'open' | 'asking'>): string {
  return state === 'closed' ? words.ask : words.microphone[state];
}
