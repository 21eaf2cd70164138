// Serves the REST reference, generated from the routes: a page at /docs, and OpenAPI at /openapi.json.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type FastifyInstance, fastify, type RouteHandlerMethod } from 'fastify';
import { badRequestsOf } from './bad-requests.js';
import { validatorCompiler } from './body.js';
import { sendFromMemory } from './files.js';
import { healthRoutes } from './health.js';
import { complete, type Declared } from './openapi.js';
import type { Document } from './openapi-document.js';
import { preamble } from './openapi-preamble.js';

/** Collects all routes registered after it and serves their description. */
export function addDocs(app: FastifyInstance): void {
  const declared = new Map<string, Declared>();
  app.register(swagger, {
    openapi: preamble,
    transform: ({ schema, url, route: { method, config } }) => {
      const { access = 'admin', refusals = [], badRequests = [] } = config ?? {};
      declared.set(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`, {
        access,
        refusals,
        badRequests: badRequestsOf({ method: String(method), schema, others: badRequests }),
      });
      return { url, schema: { ...schema, security: access === 'public' ? [] : [{ token: [] }] } };
    },
    // The plugin knows more of OpenAPI than we write.
    transformObject: (generated) =>
      complete((generated as { openapiObject: unknown }).openapiObject as Document, declared) as object,
  });

  app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' };
      route.schema = { ...route.schema, hide: true };
      const form = FORMS.get(route.url);
      if (form !== undefined) route.handler = sendDocument(form);
    });
    docs.get('/openapi.json', sendDocument(JSON_FORM));
    sendFromMemory(docs);
    await docs.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: PAGE_POLICY,
      theme: { title: `${preamble.info.title}: REST API` },
    });
  });
}

interface Form {
  readonly type: string;
  readonly write: (app: FastifyInstance) => string;
}

const JSON_FORM: Form = {
  type: 'application/json; charset=utf-8',
  write: (app) => JSON.stringify(app.swagger()),
};

/** By addresses of the plugin, which would write the document anew for each request. */
const FORMS: ReadonlyMap<string, Form> = new Map([
  ['/docs/json', JSON_FORM],
  ['/docs/yaml', { type: 'application/x-yaml', write: (app) => app.swagger({ yaml: true }) }],
]);

/** Writes the document at the first request, when all routes are known. */
function sendDocument({ type, write }: Form): RouteHandlerMethod {
  let document: Buffer | undefined;
  return function (_request, reply) {
    document ??= Buffer.from(write(this));
    reply.type(type).send(document);
  };
}

/** The document of a server with these routes. It calls none of their handlers. */
export async function documentOf(routes: readonly FastifyPluginAsyncTypebox[]): Promise<Document> {
  const app = fastify();
  app.setValidatorCompiler(validatorCompiler);
  addDocs(app);
  app.register(healthRoutes({ ready: () => null }));
  for (const feature of routes) app.register(feature);
  await app.ready();
  try {
    return app.swagger() as unknown as Document; // as `complete` made it
  } finally {
    await app.close();
  }
}

/** Everything the page needs comes from this server. Its styles are set by script. */
const PAGE_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};
