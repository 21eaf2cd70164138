// What an operator types when a radio hears nothing, and the finding that the command prints first.
import type { Test } from 'tap';
import { findingOf, type Names } from '../pages/diagnosis-sentences.js';
import { runCommand, SECRET } from './service.js';

/** `talkgroup-radio doctor`, as a process of its own beside the service with this database. */
export function doctorOf({ url }: { readonly url: string }) {
  const run = (...args: string[]) =>
    runCommand(['doctor', ...args], { DATABASE_URL: url, JWT_SECRET: SECRET });

  return {
    run,
    /** Its output begins with the sentence of docs/operations.md about this finding. Resolves with its output. */
    async says(t: Test, code: string, names: Names): Promise<string> {
      const { user, talkgroup } = names;
      const asked = talkgroup === undefined ? [] : ['--talkgroup', talkgroup];
      const { code: exit, output } = await run(user, ...asked);
      const [first = '', action = ''] = output.split('\n');
      t.equal(exit, 0, output);
      t.equal(findingOf(first, names), code, first);
      t.match(action, /^ {2}\S.*\.$/, 'what to do follows');
      return output;
    },
  };
}
