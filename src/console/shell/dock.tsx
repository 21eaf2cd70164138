// The dock below every tab: talk, what the console needs from the user, the outputs, and the emergency button.
import { EmergencyPlace } from '../alarms/emergency-button.js';
import type { Desk } from '../app/desk.js';
import { useFocusLeft } from '../app/focus-left.js';
import { Lazy } from '../app/lazy.js';
import { Icon } from '../icons/icon.js';
import { TalkBar } from '../talk/dock.js';
import type { Notice } from './dock-line.js';
import { noticeOf } from './notice.js';
import { shell } from './texts.js';

const loadOutputs = () => import('./outputs.js');

export function Dock({ desk }: { desk: Desk }) {
  const notice = noticeOf(desk, isSecureContext);
  return (
    <footer class="dock" data-region="dock">
      <TalkBar desk={desk} isUrgent={notice?.isError === true || desk.replay.value?.playing.value != null}>
        {notice !== null && <NoticeLine key={notice.key ?? notice.text} notice={notice} />}
      </TalkBar>
      <div class="outputs quiet">
        {desk.settings.settings.value.listening === 'both' ? (
          <p>
            <Icon name="headphones" />
            {shell.outputs.all}
          </p>
        ) : (
          <Lazy load={loadOutputs} />
        )}
      </div>
      <EmergencyPlace desk={desk} />
    </footer>
  );
}

/** With a key of its own: the click that ends one notice must not press the button of the next one. */
export function NoticeLine({ notice: { text, isError, key, button, more = [] } }: { notice: Notice }) {
  const pressed = useFocusLeft((region) => region?.querySelector('button')?.focus());
  return (
    <div class="notice" data-steady={key !== undefined} data-more={more.length > 0}>
      <p role={isError ? 'alert' : 'status'}>{text}</p>
      {button !== null && (
        <button type="button" ref={pressed} class="primary" onClick={button.press}>
          {button.text}
        </button>
      )}
      {more.map(({ text: short, name, press }) => (
        <button key={short} type="button" aria-label={name} onClick={press}>
          {short}
        </button>
      ))}
    </div>
  );
}
