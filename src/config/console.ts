// Declares the settings of the web console.
import { Type } from '../typebox.js';
import { settingsOf } from './setting.js';

const web = settingsOf('Web console');

export const consoleSettings = {
  CONSOLE: web.choice(['on', 'off'], {
    level: 'basic',
    unit: 'choice',
    default: 'on',
    description: 'Whether REST serves the web console below `/console/`.',
    notes: '`off`: `/` and `/console/` answer 404.',
  }),
  PUBLIC_WS_URL: Type.Optional(
    web.text({
      level: 'basic',
      unit: 'URL',
      description: 'Address at which browsers reach the WebSocket relay.',
      must: 'be a ws:// or wss:// address such as wss://radio.example, without user, query and fragment',
      notes:
        'Set it behind a proxy. A final `/ws` may be left out. The content security policy of the console names this address.',
      unset:
        'The console connects to the name in its own address and to `WS_PORT`. It uses TLS when its page came over TLS, also through a proxy in `TRUST_PROXY` that sends `X-Forwarded-Proto`.',
    }),
  ),
  MAP_STYLE_URL: Type.Optional(
    web.text({
      level: 'basic',
      unit: 'URL',
      description: 'Style of the base map in the console, in the format of MapLibre.',
      must: 'be an https:// address such as https://tiles.example/style.json, without user and fragment',
      notes: 'Anyone can read it in `GET /console/config.json`.',
      unset: 'The map shows the outline of the land, and browsers send no request to other servers.',
    }),
  ),
  MAP_FILE: Type.Optional(
    web.text({
      level: 'basic',
      unit: 'path',
      description: 'File with the base map of the console, in the format PMTiles.',
      must: 'be a readable file in the format PMTiles, version 3',
      notes:
        'The service sends it in parts as `/console/map.pmtiles`, to everyone. When the file changes or is removed, the answer is 503 until the service is started again. `MAP_STYLE_URL` must not be set.',
      unset: 'The map is that of `MAP_STYLE_URL`, or the outline of the land.',
    }),
  ),
  MAP_ORIGINS: Type.Optional(
    web.text({
      level: 'tuning',
      unit: 'comma-separated origins',
      description:
        'Web origins from which the console may load the style, tiles, fonts and images of the map.',
      must: 'be a comma-separated list of https origins such as https://tiles.example, without * and path',
      notes: 'List the origin of `MAP_STYLE_URL` as well.',
      unset: 'The origin of `MAP_STYLE_URL`.',
    }),
  ),
};
