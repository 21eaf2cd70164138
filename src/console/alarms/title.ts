// Says in the title of the page and in its icon that an alarm is not acknowledged, for users in another tab.
import { effect } from '@preact/signals';
import type { Emergency } from '../../client/radio.js';
import { texts } from '../app/texts.js';

const END = '%3C/svg%3E';
const DOT = "%3Ccircle cx='12' cy='4' r='4' fill='%23c2131f'/%3E";

/** Until the page is left. */
export function showInTitle({ alarms }: { alarms: { open: { value: readonly Emergency[] } } }): void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  const plain = icon?.href ?? '';
  effect(() => {
    const fresh = alarms.open.value.filter(({ state }) => state === 'raised');
    const [first] = fresh;
    document.title =
      first === undefined ? texts.title : texts.alarms.title(fresh.length, first.username, texts.title);
    const href = first === undefined ? plain : plain.replace(END, DOT + END);
    if (icon !== null && icon.href !== href) icon.href = href;
  });
}
