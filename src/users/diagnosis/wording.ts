// Words that the sentences about a radio share.

/** As `Fire 1 and 3 other talkgroups`. */
export function list(names: readonly string[], count = names.length): string {
  const [first = ''] = names;
  if (count < 2) return first;
  return `${first} and ${count === 2 ? '1 other talkgroup' : `${count - 1} other talkgroups`}`;
}

export const nodes = (count: number) => (count === 1 ? '1 node' : `${count} nodes`);

/** `2026-11-29 10:05:00 UTC`. */
export const clock = (iso: string) => `${iso.slice(0, 19).replace('T', ' ')} UTC`;
