// Generates docs/openapi.json and the reference at the end of docs/rest-api.md.
import { documentOf } from '../http/docs.js';
import { errorTable, referenceOf } from '../http/reference.js';
import { type RestParts, restRoutes } from '../rest.js';
import { type Page, replaceGenerated } from './page.js';

export const openApiPage: Page = {
  path: 'docs/openapi.json',
  write: async () => `${JSON.stringify(await ownDocument(), null, 2)}\n`,
};

export const restApiPage: Page = {
  path: 'docs/rest-api.md',
  write: async (present) => {
    const operations = referenceOf(await ownDocument());
    return replaceGenerated(present, ['## Errors', errorTable(), '## Operations', operations].join('\n\n'));
  },
};

/** The document of a server with the default settings. */
function ownDocument() {
  const accounts = { PASSWORD_MIN_LENGTH: 1, REGISTRATION: 'open', TALKGROUP_DIRECTORY: 'all' } as const;
  const config = { ...accounts, CONSOLE: 'on', MAP_ORIGINS: [] } as const;
  // Only the settings are used until a route is called, and none is called here.
  return documentOf(restRoutes({ config } as unknown as RestParts));
}
