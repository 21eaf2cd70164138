// The texts of the map tab.
import type { Freshness } from './fleet/freshness.js';

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
  following: { on: 'on', off: 'off' },
  openDrawer: 'Positions',
  closeDrawer: 'Close the positions',
  talking: (username: string) => `${username} is talking`,

  talkgroups: 'Talkgroups on the map',
  tooMany: (count: number) => `The map can show ${count} talkgroups at once.`,
  noTalkgroup: 'You are in no talkgroup. The map shows the devices of your talkgroups.',
  noneChosen: 'No talkgroup is chosen.',
  asking: 'Asking for the positions …',
  disconnected: 'Not connected. The positions are those of before.',
  rejected: (code: string, isPassing: boolean) =>
    rejections[code] ?? `The server cannot send positions (${code}).${isPassing ? ' Trying again.' : ''}`,
  devices,
  unsent: (count: number) =>
    `${numbers.format(count)} more devices are not shown because there are too many.`,

  find: 'Find a user',
  user: 'User',
  latitude: 'Latitude',
  longitude: 'Longitude',
  speed: 'km/h',
  age: 'Age',
  ageWords: (freshness: Freshness) => `, ${freshness}`,
  tooltip: (device: string, place: string) => `${device}: ${place}`,
  unknown: 'no position yet',
  emergency: 'Emergency',
  isTalking: 'talking',
  show: (name: string) => `Show ${name} on the map`,
  empty: 'No device has this name.',
  page: (page: number, pages: number) => `Page ${page} of ${pages}`,
  previous: 'Previous page',
  next: 'Next page',

  legend: 'Age of a position',
  freshness: { live: '1 min', recent: '5 min', old: '20 min', 'very old': 'older' } satisfies Record<
    Freshness,
    string
  >,
  trails: 'A trail shows where a device was since this tab was opened. Press Trail in its card.',
  dropped: (count: number, limit: number) =>
    `A trail keeps ${limit} points. ${count === 1 ? '1 older point was' : `${numbers.format(count)} older points were`} dropped.`,
  clusters: (count: number) => `From ${count} devices on, those close to each other are one circle.`,

  card: {
    label: (username: string) => `Card of ${username}`,
    close: (username: string) => `Close the card of ${username}`,
    emergency: { raised: 'Emergency, not acknowledged', acknowledged: 'Emergency, acknowledged' },
    device: (name: string) => `device ${name}`,
    speed: 'Speed',
    course: 'Course',
    battery: 'Battery',
    age: 'Age',
    none: '–',
    kmh: (speed: string) => `${speed} km/h`,
    degrees: (degrees: number, direction: string) => `${degrees}° ${direction}`,
    percent: (percent: number) => `${percent} %`,
    percentAt: (percent: number, age: string) => `${percent} %, ${age}`,
    aged: (age: string, freshness: Freshness) => `${age}, ${freshness}`,
    accurate: (metres: number) => `${metres} m accurate`,
    noPosition: 'No position yet',
    copy: 'copy',
    copied: 'copied',
    copyName: 'copy the position',
    talk: (name: string) => `Talk in ${name}`,
    holdToTalk: (name: string) => `Hold to talk in ${name}`,
    talkgroup: 'Talkgroup to talk in',
    follow: 'Follow',
    followName: (username: string) => `Follow ${username}`,
    trail: 'Trail',
    trailName: (username: string) => `Trail of ${username}`,
  },

  metres: (metres: number) => (metres < 1000 ? `${metres} m` : `${numbers.format(metres / 1000)} km`),
};
