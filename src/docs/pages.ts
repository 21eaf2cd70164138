// Lists all generated pages, and compares each with its file.
import { readIfThere } from '../files.js';
import { configurationPage } from './configuration.js';
import { metricsPage } from './metrics.js';
import { modulesPage } from './modules-page.js';
import type { Page } from './page.js';
import { protocolPage } from './protocol.js';
import { openApiPage, restApiPage } from './rest-api.js';

export const pages: readonly Page[] = [
  modulesPage,
  configurationPage,
  metricsPage,
  openApiPage,
  protocolPage,
  restApiPage,
];

/** From dist/src/docs. */
const root = new URL('../../../', import.meta.url);

/** Where the page lies, its text now, and its text as it should be. */
export async function compared({ path, write }: Page) {
  const file = new URL(path, root);
  const present = (await readIfThere(file)) ?? '';
  return { file, present, wanted: await write(present) };
}
