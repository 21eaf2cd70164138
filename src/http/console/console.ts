// Serves the web console: its files below /console/, its settings, and the redirects to its page.
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.js';
import { readVersion } from '../../version.js';
import { relayAddress } from '../discovery/addresses.js';
import { sendFromMemory } from '../files.js';
import { answers } from '../schemas.js';
import type { ConsoleSettings } from '../settings.js';
import { mapFileRoutes } from './map-file.js';
import { cachingOf, contentSecurityPolicy, PERMISSIONS } from './policy.js';
import { ConsoleConfig } from './schemas.js';

export interface ConsoleOptions {
  readonly config: ConsoleSettings;
  /** Port of the relay, once it listens. */
  readonly wsPort: () => number;
  /** Of the built files. Default: where the build writes them. */
  readonly folder?: string | undefined;
}

/** dist/console, from dist/src/http/console: the same place in a clone, in the package and in the image. */
const BUILT = fileURLToPath(new URL('../../../console', import.meta.url));

/** False when the console was not built, as in a production install without it. */
export const isConsoleBuilt = (folder = BUILT): boolean => existsSync(join(folder, PAGE));

const PAGE = 'index.html';

/** Endings of files that are sent in place of the file that they hold, and not by their own name. */
const PACKED = /\.(br|gz)$/;

/** GET /console/ and the files below it, GET /console/config.json, GET /console/map.pmtiles, and redirects from / and /console. */
export const consoleRoutes =
  ({ config, wsPort, folder = BUILT }: ConsoleOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    if (config.CONSOLE === 'off') return;
    if (!isConsoleBuilt(folder)) app.log.warn({ folder }, 'console not built, requests for it get 404');

    const readConfig = {
      config: { access: 'public' },
      schema: {
        operationId: 'getConsoleConfig',
        summary: 'Read the settings of the web console',
        description:
          'The page of the console reads it before the login. Without `PUBLIC_WS_URL` the address of the relay has the name in the `Host` header. A `Host` header that is more than a name with a port gets 400.',
        tags: ['console'],
        response: answers(ConsoleConfig),
      },
    } as const;

    app.get('/console/config.json', readConfig, async (request) => {
      const ws_url = relayOf(request);
      if (ws_url === null) throw new AppError('bad_request');
      const { MAP_STYLE_URL: map_style_url = null, MAP_FILE } = config;
      return { ws_url, map_style_url, map_file: MAP_FILE !== undefined, version: readVersion() };
    });

    if (config.MAP_FILE !== undefined) app.register(mapFileRoutes(config.MAP_FILE));

    const relayOf = ({ headers, protocol }: FastifyRequest) =>
      relayAddress({
        publicUrl: config.PUBLIC_WS_URL,
        host: headers.host,
        port: wsPort(),
        secure: protocol === 'https', // of the connection, or as a trusted proxy says
      });

    function describeFile(reply: FastifyReply, path: string): void {
      const policy = { relay: relayOf(reply.request), mapOrigins: config.MAP_ORIGINS };
      reply.headers({
        'cache-control': cachingOf(basename(path).replace(PACKED, '')),
        'content-security-policy': contentSecurityPolicy(policy),
        'permissions-policy': PERMISSIONS,
        'cross-origin-opener-policy': 'same-origin',
      });
    }

    app.register(async (files) => {
      files.addHook('onRoute', (route) => {
        route.config = { ...route.config, access: 'public' };
        route.schema = { ...route.schema, hide: true };
      });
      sendFromMemory(files);
      await files.register(fastifyStatic, {
        root: folder,
        prefix: '/console/',
        index: false, // the router takes a path that ends with a slash for another one
        dotfiles: 'ignore',
        acceptRanges: false,
        cacheControl: false, // describeFile sets it
        preCompressed: true,
        allowedPath: (path) => !PACKED.test(path),
        suppressWarning: true, // a missing folder is logged above
        setHeaders: describeFile,
      });
      files.get('/console/', async (_request, reply) => reply.sendFile(PAGE));
      for (const url of ['/', '/console']) {
        files.get(url, async ({ raw }, reply) => {
          // The router takes the target `*` for `/`.
          if (raw.url === '*') reply.callNotFound();
          else reply.redirect('/console/');
          return reply;
        });
      }
    });
  };
