// The layout for phones: one talkgroup with a large key, and below it the views. Nothing moves when something is said.
import type { TargetedPointerEvent } from 'preact';
import { useRef } from 'preact/hooks';
import { AlarmWords } from '../alarms/summary.js';
import { AlarmList } from '../alarms/view.js';
import { desk as currentDesk, type Desk } from '../app/desk.js';
import { Lazy } from '../app/lazy.js';
import { hash } from '../app/places.js';
import { texts } from '../app/texts.js';
import { loadFirstRun, settingsPage, tabs } from '../shell/tabs.js';
import { EmergencyRow } from './emergency-row.js';
import { Groups } from './groups.js';
import { Head } from './head.js';
import { isInBar, Navigation, tabId, viewOf } from './navigation.js';
import { type Phone, phoneOf } from './state.js';
import { swipeOf } from './swipe.js';
import { noticeFor, Talk } from './talk.js';

export default function PhoneLayout() {
  const desk = currentDesk.value;
  return desk === null ? null : <Regions desk={desk} />;
}

function Regions({ desk }: { desk: Desk }) {
  const phone = phoneOf(desk);
  const view = viewOf(hash.value, desk.account);
  const isTalk = view === 'talk' && !desk.firstRun.isShown.value;
  const swipe = useSwipe(phone);
  return (
    <div class={isTalk ? 'phone talks' : 'phone'} {...(isTalk && swipe)}>
      <Head desk={desk} phone={phone} hasCard={isTalk && noticeFor({ desk, phone }) === null} />
      <main class="phone-main" data-region="view">
        <div
          role="tabpanel"
          id="panel"
          class="phone-panel"
          {...(isInBar(view) ? { 'aria-labelledby': tabId(view) } : { 'aria-label': menuNames[view] })}
        >
          <View desk={desk} phone={phone} view={view} />
        </div>
      </main>
      <EmergencyRow desk={desk} phone={phone} />
      <Navigation desk={desk} view={view} />
      {view !== 'talk' && view !== 'alarms' && (
        <p role="alert" class="visually-hidden">
          <AlarmWords desk={desk} />
        </p>
      )}
    </div>
  );
}

type ViewProps = { desk: Desk; phone: Phone; view: ReturnType<typeof viewOf> };

function View({ desk, phone, view }: ViewProps) {
  switch (view) {
    case 'talk':
      if (desk.firstRun.isShown.value) return <Foreign name="first-run" load={loadFirstRun} />;
      return <Talk desk={desk} phone={phone} />;
    case 'groups':
      return <Groups desk={desk} phone={phone} />;
    case 'alarms':
      return <AlarmList desk={desk} />;
    case 'settings':
      return <Foreign name={view} load={settingsPage.load} />;
    case 'map':
    case 'recordings':
    case 'admin': {
      const tab = tabs.find((one) => one.hash === view) ?? tabs[0];
      return <Foreign name={view} load={tab.load} />;
    }
  }
}

/** A view of the desk. */
function Foreign({ name, load }: { name: string; load: Parameters<typeof Lazy>[0]['load'] }) {
  return (
    <div class="phone-foreign">
      <Lazy key={name} load={load} />
    </div>
  );
}

const menuNames = {
  admin: texts.tabs.admin,
  recordings: texts.tabs.recordings,
  settings: settingsPage.name,
};

/** A swipe of a finger changes the talkgroup. One that begins on a held button does nothing. */
function useSwipe({ ring }: Phone) {
  const start = useRef<{ pointerId: number; x: number; y: number } | null>(null);
  return {
    onPointerDown({ target, pointerType, pointerId, clientX: x, clientY: y }: TargetedPointerEvent<Element>) {
      const isHeld = target instanceof Element && target.closest('.talk-key, .emergency-place') !== null;
      start.current = isHeld || pointerType === 'mouse' ? null : { pointerId, x, y };
    },
    onPointerUp({ pointerId, clientX, clientY }: TargetedPointerEvent<Element>) {
      const from = start.current;
      if (from?.pointerId !== pointerId) return;
      start.current = null;
      const step = swipeOf({ dx: clientX - from.x, dy: clientY - from.y });
      const next = step === 0 ? null : ring.next(step);
      if (next !== null) ring.choose(next);
    },
  };
}
