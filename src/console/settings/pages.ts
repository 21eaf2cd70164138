// The pages that are loaded when they are opened: the settings, and the first steps, which share the choice of the microphone.

import FirstRun from '../first-run/view.js';
import { loadStylesheet } from '../stylesheets.js';
import Settings from './view.js';

/** Rejects when their stylesheet was not loaded. */
export async function pageOf(name: 'settings' | 'first-run') {
  await loadStylesheet('settings/pages.css');
  return { default: name === 'settings' ? Settings : FirstRun };
}
