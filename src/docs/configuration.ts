// The page docs/configuration.md: its introduction is written by hand, its reference by the settings themselves.
import { settingsAsMarkdown } from '../config/reference.js';
import { type Page, replaceGenerated } from './page.js';

export const configurationPage: Page = {
  path: 'docs/configuration.md',
  write: (present) => replaceGenerated(present, settingsAsMarkdown()),
};
