// The texts about the nearest town.

export const texts = {
  near: (name: string) => `near ${name}`,
  from: (distance: string, direction: string, name: string) => `${distance} ${direction} of ${name}`,
  km: (km: string) => `${km} km`,
  /** Clockwise from north. */
  directions: ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'],
};
