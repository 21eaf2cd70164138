// The first view of the phone: who talks, what the console needs, and the large key, which has one place in all states.
import { AlarmWords } from '../alarms/summary.js';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { timeText } from '../app/time-of-day.js';
import { NoticeLine } from '../shell/dock.js';
import type { Notice } from '../shell/dock-line.js';
import { noticeOf } from '../shell/notice.js';
import { Said } from '../talk/dock.js';
import { AlarmBar } from './alarm.js';
import { Calls } from './calls.js';
import { Card } from './card.js';
import { PhoneKey } from './key.js';
import type { Phone } from './state.js';
import { phone as words } from './texts.js';

type TalkProps = { desk: Desk; phone: Phone };

/** What the console needs from the user, or has to say. On a low screen it lies over the card. */
export const noticeFor = ({ desk, phone }: TalkProps): Notice | null =>
  noticeOf(desk, isSecureContext) ?? absenceNotice(phone);

export function Talk({ desk, phone }: TalkProps) {
  const tile = phone.ring.current.value;
  const notice = noticeFor({ desk, phone });
  const replay = desk.replay.value;
  return (
    // biome-ignore lint/a11y/useSemanticElements: not a form
    <div
      role="group"
      class="phone-panel"
      aria-label={tile?.view.value.name ?? words.none}
      data-talkgroup={tile?.id}
    >
      <Card desk={desk} phone={phone} />
      <div class="phone-calls">
        <p role="alert" class="visually-hidden">
          <AlarmWords desk={desk} />
        </p>
        <AlarmBar desk={desk} />
        <Calls desk={desk} tile={tile} />
      </div>
      {notice !== null && (
        <div class="phone-notice">
          <NoticeLine key={notice.key ?? notice.text} notice={notice} />
        </div>
      )}
      <section class="phone-key" aria-label={texts.talk.label} data-region="talk">
        <PhoneKey desk={desk} tile={tile} />
        {replay !== null && tile !== null && (
          <replay.Last key={tile.id} talkgroupId={tile.id} name={tile.view.value.name} />
        )}
        <Said desk={desk} />
      </section>
    </div>
  );
}

/** After the return to the page, until the user has read it. */
function absenceNotice({ away }: Phone): Notice | null {
  const absence = away.absence.value;
  if (absence === null) return null;
  const clock = (ms: number) => timeText(new Date(ms));
  return {
    text: words.away(clock(absence.fromMs), clock(absence.untilMs)),
    isError: false,
    button: { text: texts.close, press: away.read },
  };
}
