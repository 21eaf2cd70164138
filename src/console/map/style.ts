// What devices, trails, talkers and emergencies look like, above any map.

/** Of the four classes of age, from live to very old. Told apart by lightness as well, for users who see no hues. */
export const ageColours = ['#0f9d58', '#1a73e8', '#e8870e', '#8a8f98'] as const;
/** Of the tokens `alarm` and `air` in the light look. They are fills with white on them in both looks. */
export const emergencyColour = '#c2131f';
export const talkColour = '#0b7a43';
/** The same as text on the dark map, where it has a contrast of 6 to 1 and more (WCAG 2.2 asks for 4.5). */
const emergencyTextDark = '#ffa3a3';
const clusterColour = '#34414d';
export const white = '#ffffff';

export const sources = {
  devices: 'tr-devices',
  trails: 'tr-trails',
  emergencies: 'tr-emergencies',
  talkers: 'tr-talkers',
} as const;
export const layers = {
  clusters: 'tr-clusters',
  markers: 'tr-markers',
  emergencies: 'tr-emergencies',
} as const;

/** Drawn by images.ts. One course for each class of age. */
export const images = {
  course: 'tr-course-',
  alarm: 'tr-alarm',
  acknowledged: 'tr-acknowledged',
  talk: 'tr-talk',
  talkInAlarm: 'tr-talk-in-alarm',
} as const;

export const noFeatures = { type: 'FeatureCollection' as const, features: [] };

/** Below it all devices are shown, because a dispatcher looks for names and not for numbers. */
export const CLUSTERS_FROM = 100;
/** Up to this zoom devices are in clusters. */
export const CLUSTERS_TO = 13;

/** Clusters are MapLibre's own, made in its worker. */
export const deviceSource = {
  type: 'geojson' as const,
  data: noFeatures,
  cluster: false,
  clusterRadius: 40,
  clusterMaxZoom: CLUSTERS_TO,
  maxzoom: 15,
};
export const lineSource = { type: 'geojson' as const, data: noFeatures };

const ageColour = [
  'match',
  ['get', 'age'],
  0,
  ageColours[0],
  1,
  ageColours[1],
  2,
  ageColours[2],
  ageColours[3],
];

const isDevice = ['!', ['has', 'point_count']];
const isCluster = ['has', 'point_count'];

/** From the lowest to the highest. Circles of very old positions are hollow. */
export function deviceLayers(isDark: boolean): object[] {
  const text = isDark ? white : '#16202a';
  const halo = isDark ? '#10161c' : white;
  const label = { 'text-size': 12, 'text-anchor': 'top', 'text-offset': [0, 0.8], 'text-optional': true };
  return [
    {
      id: 'tr-trails',
      type: 'line',
      source: sources.trails,
      filter: ['==', ['geometry-type'], 'LineString'],
      paint: { 'line-color': ['get', 'colour'], 'line-width': 2, 'line-opacity': 0.8 },
    },
    {
      id: 'tr-trail-points',
      type: 'circle',
      source: sources.trails,
      filter: ['==', ['geometry-type'], 'Point'],
      paint: { 'circle-color': ['get', 'colour'], 'circle-radius': 3 },
    },
    {
      id: layers.clusters,
      type: 'circle',
      source: sources.devices,
      filter: isCluster,
      paint: {
        'circle-color': clusterColour,
        'circle-radius': ['step', ['get', 'point_count'], 13, 50, 17, 500, 22],
        'circle-stroke-color': white,
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'tr-cluster-counts',
      type: 'symbol',
      source: sources.devices,
      filter: isCluster,
      layout: {
        'text-field': ['get', 'point_count_abbreviated'],
        'text-size': 12,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': white },
    },
    {
      id: 'tr-courses',
      type: 'symbol',
      source: sources.devices,
      filter: ['all', isDevice, ['>=', ['get', 'course'], 0]],
      layout: {
        'icon-image': ['concat', images.course, ['get', 'age']],
        'icon-rotate': ['get', 'course'],
        'icon-offset': [0, -13],
        'icon-allow-overlap': true,
        'icon-ignore-placement': true,
      },
    },
    {
      id: layers.markers,
      type: 'circle',
      source: sources.devices,
      filter: isDevice,
      paint: {
        'circle-color': ageColour,
        'circle-opacity': ['match', ['get', 'age'], 3, 0.15, 1],
        'circle-radius': ['match', ['get', 'age'], 0, 8, 1, 7, 6],
        'circle-stroke-color': ['match', ['get', 'age'], 3, ageColours[3], white],
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'tr-names',
      type: 'symbol',
      source: sources.devices,
      filter: isDevice,
      minzoom: 6,
      layout: { ...label, 'text-field': ['get', 'name'] },
      paint: { 'text-color': text, 'text-halo-color': halo, 'text-halo-width': 1.5 },
    },
    ...emergencyLayers({ ...label, 'text-size': 14 }, isDark ? emergencyTextDark : emergencyColour, halo),
    ...talkerLayers(),
  ];
}

/** A new one is a red disc with a ring. An acknowledged one is outlined. */
function emergencyLayers(label: object, text: string, halo: string): object[] {
  const isAcknowledged = ['get', 'isAcknowledged'];
  return [
    {
      id: 'tr-emergency-rings',
      type: 'circle',
      source: sources.emergencies,
      filter: ['!', isAcknowledged],
      paint: {
        'circle-color': emergencyColour,
        'circle-opacity': 0.12,
        'circle-radius': 25,
        'circle-stroke-color': emergencyColour,
        'circle-stroke-width': 2,
        'circle-stroke-opacity': 0.6,
      },
    },
    {
      id: layers.emergencies,
      type: 'circle',
      source: sources.emergencies,
      paint: {
        'circle-color': ['case', isAcknowledged, white, emergencyColour],
        'circle-radius': 12,
        'circle-stroke-color': ['case', isAcknowledged, emergencyColour, white],
        'circle-stroke-width': 3,
      },
    },
    {
      id: 'tr-emergency-signs',
      type: 'symbol',
      source: sources.emergencies,
      layout: {
        'icon-image': ['case', isAcknowledged, images.acknowledged, images.alarm],
        'icon-allow-overlap': true,
      },
    },
    {
      id: 'tr-emergency-names',
      type: 'symbol',
      source: sources.emergencies,
      layout: {
        ...label,
        'text-offset': [0, 1.2],
        'text-field': ['get', 'name'],
        'text-allow-overlap': true,
      },
      paint: { 'text-color': text, 'text-halo-color': halo, 'text-halo-width': 2 },
    },
  ];
}

function talkerLayers(): object[] {
  return [
    {
      id: 'tr-talker-rings',
      type: 'circle',
      source: sources.talkers,
      paint: {
        'circle-color': ['get', 'colour'],
        'circle-opacity': ['case', ['get', 'isAlarm'], 0, 1],
        'circle-radius': ['case', ['get', 'isAlarm'], 18, 8],
        'circle-stroke-color': white,
        'circle-stroke-width': ['case', ['get', 'isAlarm'], 0, 3],
      },
    },
    {
      id: 'tr-talker-outlines',
      type: 'circle',
      source: sources.talkers,
      paint: {
        'circle-opacity': 0,
        'circle-radius': ['case', ['get', 'isAlarm'], 17, 12],
        'circle-stroke-color': talkColour,
        'circle-stroke-width': 3,
      },
    },
    {
      id: 'tr-talker-words',
      type: 'symbol',
      source: sources.talkers,
      layout: {
        'text-field': ['get', 'words'],
        'text-size': 13,
        'text-anchor': 'bottom',
        'text-offset': [0, -2],
        'text-allow-overlap': true,
        'text-max-width': 30,
        'icon-image': ['case', ['get', 'isAlarm'], images.talkInAlarm, images.talk],
        'icon-text-fit': 'both',
        'icon-text-fit-padding': [5, 10, 5, 10],
        'icon-allow-overlap': true,
      },
      paint: { 'text-color': white },
    },
  ];
}
