// Generates the reference in docs/configuration.md from the settings. The introduction is written by hand.
import { settingsAsMarkdown } from '../config/reference.js';
import { type Page, replaceGenerated } from './page.js';

export const configurationPage: Page = {
  path: 'docs/configuration.md',
  write: (present) => replaceGenerated(present, settingsAsMarkdown()),
};
