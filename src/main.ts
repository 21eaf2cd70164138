// Starts the service, or says in one sentence why this Node cannot run it, or takes no such argument. The rest is
// imported only after that check, because a static import that fails ends with a stack trace.
import { engineRefusal, releaseRefusal } from './runtime/refusal.js';

const refusal = releaseRefusal(process.versions.node) ?? argumentRefusal() ?? (await loadEngine());
if (refusal !== null) {
  console.error(`cannot start: ${refusal}`);
  process.exit(1); // at once: Node 20 throws an error of a CommonJS package again after it was caught
}
await import('./serve.js');

/** Null without arguments. A command meant for cli.js would otherwise start the whole service. */
function argumentRefusal(): string | null {
  const [argument] = process.argv.slice(2);
  if (argument === undefined) return null;
  return `unknown argument ${JSON.stringify(argument)}, the service takes settings from the environment and commands by "talkgroup-radio"`;
}

/** Null when it can be loaded. */
async function loadEngine(): Promise<string | null> {
  try {
    await import('./relay/websocket/engine.js'); // the only file that imports it
    return null;
  } catch (error) {
    const refusal = engineRefusal(error, process);
    if (refusal === null) throw error;
    return refusal;
  }
}
