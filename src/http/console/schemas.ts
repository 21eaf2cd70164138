// Declares the settings of the web console as its page reads them.
import { Type } from '../../typebox.js';

export const ConsoleConfig = Type.Object(
  {
    ws_url: Type.String({ description: 'Address of the relay, without or with a final `/ws`.' }),
    map_style_url: Type.Union([Type.String(), Type.Null()], {
      description: 'Style of the base map. null: the console draws its own outline of the land.',
    }),
    map_file: Type.Boolean({ description: 'Whether `/console/map.pmtiles` is the base map.' }),
    version: Type.String({ description: 'Version of the service.' }),
  },
  {
    title: 'ConsoleConfig',
    description: 'The settings of the console.',
    examples: [{ ws_url: 'wss://radio.example.net', map_style_url: null, map_file: false, version: '0.1.0' }],
  },
);
