// What the map looks like: the built-in outline of the land, and the layers of devices above any map.
import type { LandFeature } from './land.js';

/** Of the four classes of age, from live to very old. Told apart by lightness as well, for users who see no hues. */
export const ageColours = ['#0f9d58', '#1a73e8', '#e8870e', '#8a8f98'] as const;
export const emergencyColour = '#d3121f';
/** The same as text on the dark map, where it has a contrast of 6 to 1 and more (WCAG 2.2 asks for 4.5). */
const emergencyTextDark = '#ffa3a3';
const clusterColour = '#34414d';
const white = '#ffffff';

export const sources = { devices: 'tr-devices', trails: 'tr-trails', emergencies: 'tr-emergencies' } as const;
export const layers = { clusters: 'tr-clusters', markers: 'tr-markers' } as const;

/** No address in it: nothing is requested from anybody. */
export function builtInStyle(land: LandFeature, isDark: boolean) {
  const colours = isDark
    ? { sea: '#10202e', land: '#2b3a36', coast: '#6f8a80' }
    : { sea: '#d3e4f0', land: '#f2f0e8', coast: '#8a9a94' };
  return {
    version: 8 as const,
    sources: { land: { type: 'geojson' as const, data: land, maxzoom: 10 } },
    layers: [
      { id: 'sea', type: 'background' as const, paint: { 'background-color': colours.sea } },
      { id: 'land', type: 'fill' as const, source: 'land', paint: { 'fill-color': colours.land } },
      { id: 'coast', type: 'line' as const, source: 'land', paint: { 'line-color': colours.coast } },
    ],
  };
}

export const noFeatures = { type: 'FeatureCollection' as const, features: [] };

/** Clusters are MapLibre's own, made in its worker. */
export const deviceSource = {
  type: 'geojson' as const,
  data: noFeatures,
  cluster: true,
  clusterRadius: 40,
  clusterMaxZoom: 13,
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
      paint: { 'line-color': ['get', 'colour'], 'line-width': 2, 'line-opacity': 0.7 },
    },
    {
      id: layers.clusters,
      type: 'circle',
      source: sources.devices,
      filter: ['has', 'point_count'],
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
      filter: ['has', 'point_count'],
      layout: {
        'text-field': ['get', 'point_count_abbreviated'],
        'text-size': 12,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': white },
    },
    {
      id: layers.markers,
      type: 'circle',
      source: sources.devices,
      filter: ['!', ['has', 'point_count']],
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
      filter: ['!', ['has', 'point_count']],
      minzoom: 8,
      layout: { ...label, 'text-field': ['get', 'name'] },
      paint: { 'text-color': text, 'text-halo-color': halo, 'text-halo-width': 1.5 },
    },
    {
      id: 'tr-emergencies',
      type: 'circle',
      source: sources.emergencies,
      paint: {
        'circle-color': emergencyColour,
        'circle-radius': 11,
        'circle-stroke-color': white,
        'circle-stroke-width': 3,
      },
    },
    {
      id: 'tr-emergency-names',
      type: 'symbol',
      source: sources.emergencies,
      layout: { ...label, 'text-size': 14, 'text-field': ['get', 'name'], 'text-allow-overlap': true },
      paint: {
        'text-color': isDark ? emergencyTextDark : emergencyColour,
        'text-halo-color': halo,
        'text-halo-width': 2,
      },
    },
  ];
}
