// What the built-in map looks like: the outline of the land, the graticule and the names of towns.
import type { TownPlace } from '../places/list.js';
import type { LandFeature } from './land.js';

export const baseSources = { land: 'land', graticule: 'graticule', towns: 'towns' } as const;

const noFeatures = { type: 'FeatureCollection' as const, features: [] };

/** No address in it: nothing is requested. The graticule and the towns are added when they are known. */
export function builtInStyle(land: LandFeature, isDark: boolean) {
  const colours = isDark
    ? { sea: '#10202e', land: '#2b3a36', coast: '#6f8a80', line: '#56666f', town: '#b4c1c9', halo: '#16222a' }
    : {
        sea: '#d3e4f0',
        land: '#f2f0e8',
        coast: '#8a9a94',
        line: '#9aa9b4',
        town: '#4d5b68',
        halo: '#f6f5f0',
      };
  return {
    version: 8 as const,
    sources: {
      [baseSources.land]: { type: 'geojson' as const, data: land, maxzoom: 10 },
      [baseSources.graticule]: { type: 'geojson' as const, data: noFeatures, maxzoom: 10 },
      [baseSources.towns]: { type: 'geojson' as const, data: noFeatures, maxzoom: 10 },
    },
    layers: [
      { id: 'sea', type: 'background' as const, paint: { 'background-color': colours.sea } },
      { id: 'land', type: 'fill' as const, source: 'land', paint: { 'fill-color': colours.land } },
      { id: 'coast', type: 'line' as const, source: 'land', paint: { 'line-color': colours.coast } },
      {
        id: 'graticule',
        type: 'line' as const,
        source: baseSources.graticule,
        paint: { 'line-color': colours.line, 'line-width': 1, 'line-dasharray': [2, 4] },
      },
      {
        id: 'town-points',
        type: 'circle' as const,
        source: baseSources.towns,
        filter: isLargeEnough,
        minzoom: 4,
        paint: {
          'circle-radius': 2.5,
          'circle-color': colours.halo,
          'circle-stroke-color': colours.town,
          'circle-stroke-width': 1.5,
        },
      },
      {
        id: 'town-names',
        type: 'symbol' as const,
        source: baseSources.towns,
        filter: isLargeEnough,
        layout: {
          'text-field': ['get', 'name'],
          'text-size': 12,
          'text-variable-anchor': ['left', 'right', 'top', 'bottom'],
          'text-radial-offset': 0.6,
          'symbol-sort-key': ['get', 'rank'],
        },
        paint: { 'text-color': colours.town, 'text-halo-color': colours.halo, 'text-halo-width': 1 },
      },
    ],
  };
}

/** Half of the smallest towns that have room would hide the devices. */
const isLargeEnough = ['<=', ['get', 'rank'], ['+', ['zoom'], 1]];

export function townsOf(towns: readonly TownPlace[]) {
  const features = towns.map(({ name, lat, lng, rank }) => ({
    type: 'Feature' as const,
    properties: { name, rank },
    geometry: { type: 'Point' as const, coordinates: [lng, lat] },
  }));
  return { type: 'FeatureCollection' as const, features };
}
