// Runs several test files in one process, one after the other: node dist/test/helpers/several-files.js <file>...
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href);
