// What a run counts: inputs by what was wrong with them, answers by what they were, and what took longest.

export interface Tally {
  readonly inputs: number;
  readonly seconds: number;
  /** By table, then by row. */
  readonly tables: ReadonlyMap<string, ReadonlyMap<string, number>>;
  readonly slowest: { readonly ms: number; readonly what: string };
}

export function createTally() {
  const tables = new Map<string, Map<string, number>>();
  const startedAt = performance.now();
  let inputs = 0;
  let slowest = { ms: 0, what: 'nothing' };
  return {
    input(count = 1): void {
      inputs += count;
    },
    count(table: string, row: string): void {
      const rows = tables.get(table) ?? new Map<string, number>();
      tables.set(table, rows);
      rows.set(row, (rows.get(row) ?? 0) + 1);
    },
    took(ms: number, what: () => string): void {
      if (ms > slowest.ms) slowest = { ms, what: what() };
    },
    sum: (): Tally => ({ inputs, seconds: (performance.now() - startedAt) / 1000, tables, slowest }),
  };
}
