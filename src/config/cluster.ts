// Declares the settings of several nodes that are one service.
import { Type } from '../typebox.js';
import { settingsOf } from './setting.js';

const cluster = settingsOf('Several nodes');

export const clusterSettings = {
  NATS_URL: Type.Optional(
    cluster.text({
      level: 'basic',
      unit: 'comma-separated URLs',
      secret: true,
      description: 'NATS servers over which the nodes of one database exchange audio.',
      must: 'be a comma-separated list of URLs such as tls://nats.example:4222, or nats:// on loopback, all with the same scheme, and no other user and password than the first one has',
      notes:
        'Needs `DATABASE_URL`. Members of a talkgroup hear each other on every node. User and password in the first URL apply to all servers. A node connects to no other servers. Credentials that the server rejects stop the start. When no server answers at the start, the node logs a later rejection and goes on alone.',
      unset: 'Members of a talkgroup hear each other only on the same node.',
    }),
  ),
  NATS_CREDENTIALS_FILE: Type.Optional(
    cluster.text({
      level: 'tuning',
      unit: 'path of a file',
      description: 'File with the credentials (JWT and nkey) for the NATS servers.',
      must: 'be the path of a readable credentials file',
      unset: 'The user information in `NATS_URL` applies.',
    }),
  ),
  NATS_PREFIX: cluster.text({
    level: 'tuning',
    unit: 'NATS subject token',
    default: 'tgr',
    description: 'First token of the NATS subjects.',
    must: 'be 1 to 32 letters, digits, - or _',
    notes: 'Nodes with another prefix are another service.',
  }),
};
