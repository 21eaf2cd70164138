// Fails when a production install holds what does not belong there: node dist/test/helpers/code/production-install.js <folder>
import { installedPackages, readLock, strangersIn } from './installed-packages.js';

const [folder = '.'] = process.argv.slice(2);
const installed = installedPackages(folder);
const strangers = strangersIn(installed, readLock(folder));
for (const stranger of strangers) console.error(`not for production: ${stranger}`);
console.log(`${installed.size} packages, ${strangers.length} of them not for production`);
process.exitCode = installed.size === 0 || strangers.length > 0 ? 1 : 0;
