// Generated bad input against a service of its own: N=10000 SEED=1 node dist/test/fuzz/run.js
import type { Held, Memory } from '../../bench/machine/held-memory.js';
import { fuzz } from './fuzz.js';
import type { Tally } from './tally.js';

const INPUTS = 10_000;

const seed = Number(process.env.SEED || Math.floor(Math.random() * 1e9));
const inputs = Number(process.env.N || INPUTS);
const replay = process.env.REPLAY || undefined;
if (!Number.isSafeInteger(seed) || !(inputs > 0)) throw new Error('SEED is an integer, N a number of inputs');
console.log(`SEED=${seed} N=${inputs}`);

const report = await fuzz({ inputs, seed, replay, measuresMemory: replay === undefined, says: console.log });
print('REST', report.rest);
print('WebSocket', report.radios);
console.log(`\ninnocent radios said ${report.frames.said} frames and heard ${report.frames.heard}`);
if (report.memory !== null) {
  console.log('\nmemory after a forced collection, MB (heap + external): before, after');
  for (const thread of ['main', 'relay'] as const) console.log(`  ${thread}: ${held(report.memory, thread)}`);
}
for (const { replay, why, input } of report.failures)
  console.log(`\nFAILED: ${why}\n  again: REPLAY='${replay}'\n  input: ${input}`);
for (const fault of report.faults) console.log(`\nFAULT: ${fault}`);
const isGood = report.failures.length + report.faults.length === 0;
console.log(isGood ? '\nno fault found' : `\nfaults found with SEED=${seed} N=${inputs}`);
process.exitCode = isGood ? 0 : 1;

function print(name: string, { inputs, seconds, tables, slowest }: Tally): void {
  console.log(
    `\n${name}: ${inputs} inputs in ${seconds.toFixed(1)} s, ${Math.round(inputs / seconds)} a second`,
  );
  for (const [table, rows] of tables) {
    console.log(`  by ${table}`);
    for (const [row, count] of [...rows].sort()) console.log(`    ${String(count).padStart(8)}  ${row}`);
  }
  console.log(`  slowest: ${Math.round(slowest.ms)} ms, ${slowest.what}`);
}

function held({ before, after }: { before: Memory; after: Memory }, thread: 'main' | 'relay'): string {
  const megabytes = (one: Held | null) =>
    one === null ? 'none' : `${(one.heap / 1e6).toFixed(1)} + ${(one.external / 1e6).toFixed(1)}`;
  return `${megabytes(before[thread])}, ${megabytes(after[thread])}`;
}
