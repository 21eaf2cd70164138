// Isolates a name in a sentence that is plain text.

/** Direction marks in the name do not turn the rest of the sentence around. */
export const isolated = (name: string): string => `\u2068${name}\u2069`;
