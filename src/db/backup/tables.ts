// Finds the tables of the database in its catalog, so that none that comes later is forgotten.
import type postgres from 'postgres';

/** What says which version the tables have. It is made by the migrations. */
const VERSION_TABLE = 'schema_version';

/** The tables whose rows last, each behind those that it refers to. */
export async function tablesOf(sql: postgres.Sql): Promise<readonly string[]> {
  const tables = await sql<{ name: string; refers_to: string[] }[]>`
    select c.relname as name, array_to_json(array(
      select f.relname from pg_constraint r join pg_class f on f.oid = r.confrelid
      where r.conrelid = c.oid and r.contype = 'f' and r.confrelid <> c.oid
    )) as refers_to
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
      and c.relname <> ${VERSION_TABLE}
    order by c.relname`;
  const left = new Map(tables.map(({ name, refers_to }) => [name, refers_to]));
  const sorted: string[] = [];
  while (left.size > 0) {
    const free = [...left].filter(([, others]) => others.every((other) => !left.has(other)));
    if (free.length === 0) throw new Error(`the tables ${[...left.keys()]} refer to each other`);
    for (const [name] of free) {
      left.delete(name);
      sorted.push(name);
    }
  }
  return sorted;
}

/** The last value of each sequence. null: it has given none. */
export async function sequencesOf(sql: postgres.Sql): Promise<Record<string, number | null>> {
  const rows = await sql<{ name: string; last: string | null }[]>`
    select sequencename as name, last_value::text as last from pg_sequences where schemaname = 'public'`;
  return Object.fromEntries(rows.map(({ name, last }) => [name, last === null ? null : Number(last)]));
}

/** 0: there are no tables yet. */
export async function versionOf(sql: postgres.Sql): Promise<number> {
  const [found] = await sql<
    { has: boolean }[]
  >`select to_regclass(${`public.${VERSION_TABLE}`}) is not null as has`;
  if (found?.has !== true) return 0;
  const [row] = await sql<{ version: number }[]>`
    select coalesce(max(version), 0)::int as version from ${sql(`public.${VERSION_TABLE}`)}`;
  return row?.version ?? 0;
}
