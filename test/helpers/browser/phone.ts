// A browser window as that of a phone.
import type { BrowserContextOptions } from 'playwright-core';

/** With a finger in place of a mouse. The user has allowed the microphone before. */
export const phone: BrowserContextOptions = {
  ...{ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' },
  permissions: ['microphone'],
};
