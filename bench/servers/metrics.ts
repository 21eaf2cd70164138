// Reads metrics of a service that runs.

const ANSWER_MS_MAX = 5_000;

/** Metrics without labels, by name. Each is NaN when the service does not have it. */
export async function readMetrics<const Name extends string>(
  url: string,
  names: readonly Name[],
  msMax = ANSWER_MS_MAX,
): Promise<Readonly<Record<Name, number>>> {
  const response = await fetch(url, { signal: AbortSignal.timeout(msMax) });
  const lines = (await response.text()).split('\n');
  const numberOf = (name: string) =>
    Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1));
  return Object.fromEntries(names.map((name) => [name, numberOf(name)])) as Record<Name, number>; // each name is there
}
