// Names the field that finds, for the key that goes there.

/** Of the element. */
export const FIELD = 'find';
