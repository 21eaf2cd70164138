// Imported before tap, it keeps tap from following each promise and handle to its test, with an async hook of which
// Node tells each one's end to the garbage collector. An error that nothing catches then ends the process, which is of
// one file at a time, and its stack is printed. Of 540 s of CPU time of `make test` the hook was 46.
import hooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const unused: hooks.AsyncHook = { enable: () => unused, disable: () => unused };
hooks.createHook = () => unused;
syncBuiltinESMExports();
