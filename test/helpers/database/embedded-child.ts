// A process to be killed: runs the embedded database of the given folder and prints its connection string.
import { startEmbedded } from '../../../src/db/embedded.js';

const [dataDir = ''] = process.argv.slice(2);
const log = { info() {}, warn: console.error, error: console.error };
const database = await startEmbedded({ dataDir, log });
process.once('SIGTERM', () => void database.stop());
console.log(database.url);
