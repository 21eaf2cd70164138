// The texts of the map tab.
import { type Freshness, freshnesses } from './freshness.js';

const numbers = new Intl.NumberFormat();
const devices = (count: number) => (count === 1 ? '1 device' : `${numbers.format(count)} devices`);

const rejections: Readonly<Record<string, string>> = {
  not_member: 'You are no longer a member of one of these talkgroups. Choose again.',
  unknown_type: 'This server does not send live positions.',
  forbidden: 'Your account may not watch these positions.',
};

export const texts = {
  map: 'Map',
  positions: 'Positions',
  canvas:
    'Map of the positions. Arrow keys move it, plus and minus zoom. The table beside it has the same devices.',
  loading: 'Loading the map …',
  noWebGl: 'This browser cannot draw the map because WebGL is missing. The table shows all positions.',
  notLoaded: 'The map could not be loaded. Check the connection, then open this tab again.',
  contextLost: 'The browser has stopped drawing the map. It comes back by itself, or open this tab again.',
  blocked: (origin: string) =>
    `The map needs ${origin}, which this page may not load or cannot reach. The operator can add it to MAP_ORIGINS.`,
  ownMapFailed: 'The map of the operator could not be loaded. The built-in outline of the land is shown.',

  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  showAll: 'Show all',
  followEmergencies: 'Follow emergencies',

  talkgroups: 'Talkgroups on the map',
  tooMany: (count: number) => `The map can show ${count} talkgroups at once.`,
  noTalkgroup: 'You are in no talkgroup. The map shows the devices of your talkgroups.',
  noneChosen: 'No talkgroup is chosen.',
  asking: 'Asking for the positions …',
  disconnected: 'Not connected. The positions are those of before.',
  rejected: (code: string, isPassing: boolean) =>
    rejections[code] ?? `The server cannot send positions (${code}).${isPassing ? ' Trying again.' : ''}`,
  shown: (count: number, unsent: number) =>
    unsent === 0
      ? devices(count)
      : `${devices(count)}. ${numbers.format(unsent)} more are not shown because there are too many.`,

  search: 'Search by the start of the name',
  user: 'User',
  latitude: 'Latitude',
  longitude: 'Longitude',
  age: 'Age',
  device: (name: string) => `device \u2068${name}\u2069`,
  ageWords: (age: string, freshness: Freshness) => `${age}, ${freshness}`,
  unknown: 'no position yet',
  emergency: 'Emergency',
  show: (name: string) => `Show ${name} on the map`,
  trail: (name: string) => `Trail of ${name}`,
  trailShort: 'Trail',
  empty: 'No device has this name.',
  page: (page: number, pages: number) => `Page ${page} of ${pages}`,
  previous: 'Previous page',
  next: 'Next page',

  legend: 'Age of a position',
  freshness: {
    live: 'live: up to 1 minute',
    recent: 'recent: up to 5 minutes',
    old: 'old: up to 20 minutes',
    'very old': 'very old: above 20 minutes',
  } satisfies Record<Freshness, string>,
  freshnesses,
  trailsAll: (limit: number) =>
    `Trails show where devices were since this tab was opened. Up to ${limit} devices all have one.`,
  trailsChosen: 'Trails show where devices were since this tab was opened. Choose devices in the table.',
  dropped: (count: number, limit: number) =>
    `A trail keeps ${limit} points. ${count === 1 ? '1 older point was' : `${numbers.format(count)} older points were`} dropped.`,
};
