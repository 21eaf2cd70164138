// Opens the desk of the account that is logged in, and starts its sound as soon as the browser allows it.
import { type Signal, signal } from '@preact/signals';
import { notifyWhileHidden } from '../alarms/notifications.js';
import { showInTitle } from '../alarms/title.js';
import { listenToShortcuts } from '../keyboard/listen.js';
import { listenToPresses } from '../talk/listen.js';
import { loadConfig } from './config.js';
import { createDesk, type Desk, desk } from './desk.js';
import { account } from './session.js';

/** Why the desk could not be opened. null: it is open, or it is being opened. */
export const opening: Signal<string | null> = signal(null);

export async function openDesk(): Promise<void> {
  opening.value = null;
  try {
    const config = await loadConfig();
    if (account.value === null || desk.value !== null) return;
    const opened = createDesk(account.value, config);
    desk.value = opened;
    listenToPresses(opened);
    listenToShortcuts(opened);
    showInTitle(opened);
    notifyWhileHidden(opened);
    startSound(opened);
    await openMicrophone(opened);
  } catch (error) {
    opening.value = (error as Error).message; // RestError, or an address that is none
  }
}

/** After the click on the login the browser allows it at once, after a reload with the first click or key. */
function startSound(opened: Desk): void {
  if (navigator.userActivation?.hasBeenActive) return opened.startSound();
  for (const gesture of ['pointerdown', 'keydown'] as const)
    addEventListener(gesture, () => opened.startSound(), { once: true });
}

/** Without a question to the user if the browser knows the answer from an earlier visit. */
async function openMicrophone({ microphone, settings, firstRun }: Desk): Promise<void> {
  // Without https there is no microphone, and a user who opens it by a press has opened it before.
  if (settings.settings.peek().isMicrophoneOnDemand || !isSecureContext) return firstRun.allowed(true);
  // TypeError: Firefox before 131 does not know the permission of the microphone.
  const answer = await navigator.permissions?.query({ name: 'microphone' }).catch(() => null);
  const isGranted = answer?.state === 'granted';
  firstRun.allowed(isGranted);
  if (isGranted) microphone.open();
}
