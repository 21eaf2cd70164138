// The REST reference: generated from the schemas, shown at /docs, machine-readable at /openapi.json.
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** Collects the schemas of all routes registered after it and serves them. */
export function addDocs(app: FastifyInstance): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Talkgroup Radio Service',
        description:
          'Accounts, talkgroups, devices and positions. Audio travels over the WebSocket relay. In a body, null for an optional field counts as absent.',
        version: '1.0.0',
      },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    },
    transform: ({ schema, url, route }) => ({
      url,
      schema: route.config?.access === 'public' ? schema : { ...schema, security: [{ token: [] }] },
    }),
  });

  app.register(async (docs) => {
    docs.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: 'public' };
      route.schema = { ...route.schema, hide: true };
    });
    docs.get('/openapi.json', async () => docs.swagger());
    await docs.register(swaggerUi, { routePrefix: '/docs', staticCSP: PAGE_POLICY });
  });
}

/** Everything the page needs comes from this server; its styles are set by script. */
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
