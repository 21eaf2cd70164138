// The towns that are built into the console, and the nearest one of a place in words.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { encodePlace, readPlaces } from '../../src/console/map/places/list.js';
import { directionFrom, distanceKm, nearestIn } from '../../src/console/map/places/nearest.js';

t.test('the nearest town is named with its distance and direction', async (t) => {
  const towns = [
    { name: 'Rerik', lat: 54.11, lng: 11.61, rank: 7 },
    { name: 'Wismar', lat: 53.9, lng: 11.47, rank: 6 },
  ];
  t.equal(nearestIn(towns, 54.28, 11.64), '19 km N of Rerik');
  t.equal(nearestIn(towns, 53.9, 11.4), '4.6 km W of Wismar');
  t.equal(nearestIn(towns, 53.905, 11.475), 'near Wismar');
  t.equal(nearestIn(towns, 40, 11), null, 'farther than 500 km');
  t.equal(nearestIn([], 0, 0), null);
  const dateline = [{ name: 'Labasa', lat: -16.42, lng: 179.38, rank: 7 }];
  t.equal(nearestIn(dateline, -16.42, -179.9), '77 km E of Labasa', 'across the date line');
  const directions = [0, 45, 90, 135, 180, 225, 270, 315].map((degrees) => {
    const radians = (degrees * Math.PI) / 180;
    return directionFrom({ lat: 0, lng: 0 }, { lat: Math.cos(radians), lng: Math.sin(radians) });
  });
  t.strictSame(directions, ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW']);
  t.ok(Math.abs(distanceKm({ lat: 0, lng: 0 }, { lat: 1, lng: 0 }) - 111.195) < 0.01);
});

t.test('the towns that are built in survive their encoding, and are sorted by size', async (t) => {
  const place = { name: 'Ülzen', lat: -0.05, lng: 179.99, rank: 10 };
  t.strictSame(readPlaces({ source: '', places: [encodePlace(place)] }), [place]);
  for (const [scale, count] of [
    ['50m', 1249],
    ['10m', 7343],
  ] as const) {
    const towns = readPlaces(JSON.parse(readFileSync(`src/console/map/places/places-${scale}.json`, 'utf8')));
    t.equal(towns.length, count);
    t.equal(towns[0]?.name, 'Tokyo');
    t.ok(
      towns.every(
        ({ name, lat, lng, rank }, at) =>
          name !== '' && Math.abs(lat) <= 90 && Math.abs(lng) <= 180 && rank >= (towns[at - 1]?.rank ?? 0),
      ),
    );
  }
});
