// Chooses the server names under which the relay's engine presents a renewed certificate.
//
// The engine never lets go of a certificate safely: removing a server name frees the routes under connections that have
// not sent their request, and the process ends with a fault (ENGINE.md). So each renewal only adds names. Of several
// that fit a client's name, the engine takes the one whose first label is spelled out rather than `*`, then the second,
// and so on. Each label is a digit, 0 for `*` and 1 for spelled out: renewal n has n in binary digits.

/** The engine ignores what follows. */
const LABELS_MAX = 10;

/**
 * The patterns of renewal `renewal` (0 is the first since the start) of a certificate for these DNS names: each is taken
 * before those of all earlier renewals. Null when a name has no pattern left, or when there is no name: a certificate
 * for `radio.example.com` has 8 renewals, one for `*.example.com` has 4.
 */
export function serverNames(names: readonly string[], renewal: number): readonly string[] | null {
  if (names.length === 0) return null;
  const patterns = names.map((name) => patternOf(name.split('.'), renewal));
  if (patterns.includes(null)) return null;
  return [...new Set(patterns as string[])];
}

function patternOf(labels: readonly string[], renewal: number): string | null {
  if (renewal >= countOf(labels)) return null;
  let rest = renewal;
  const chosen: string[] = [];
  for (const label of labels.toReversed()) {
    const isSpelledOut = label !== '*' && rest % 2 === 1;
    if (label !== '*') rest = Math.floor(rest / 2);
    chosen.unshift(isSpelledOut ? label : '*');
  }
  return chosen.join('.');
}

function countOf(labels: readonly string[]): number {
  if (labels.length > LABELS_MAX) return 0;
  return 2 ** labels.filter((label) => label !== '*').length;
}
