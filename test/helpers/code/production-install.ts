// Fails when a production install holds what does not belong there, or lacks the console: node dist/test/helpers/code/production-install.js <folder>
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installedPackages, readLock, strangersIn } from './installed-packages.js';

const [folder = '.'] = process.argv.slice(2);
const installed = installedPackages(folder);
const strangers = strangersIn(installed, readLock(folder));
for (const stranger of strangers) console.error(`not for production: ${stranger}`);
console.log(`${installed.size} packages, ${strangers.length} of them not for production`);
const hasConsole = existsSync(join(folder, 'dist/console/index.html'));
if (!hasConsole) console.error('the console is missing: node dist/src/console/build.js writes it');
process.exitCode = installed.size === 0 || strangers.length > 0 || !hasConsole ? 1 : 0;
