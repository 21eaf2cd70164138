// How far a scenario is: shown on a terminal, and nowhere else.
import t from 'tap';
import { showProgress } from '../../bench/progress.js';

function screen(isTTY: boolean) {
  const written: string[] = [];
  return { written, isTTY, columns: 40, write: (text: string) => written.push(text) > 0 };
}

t.test('in a pipe only notes are written, each a line', async (t) => {
  const pipe = screen(false);
  const progress = showProgress('flood', 165, pipe);
  progress.tell('calm');
  progress.note('not installed: ws');
  progress.end();
  t.strictSame(pipe.written, ['  not installed: ws\n']);
});

t.test('on a terminal one line is written over, fits, and is gone at the end', async (t) => {
  const terminal = screen(true);
  const progress = showProgress('flood', 165, terminal);
  t.teardown(progress.end);
  progress.tell('a description that is longer than the line');
  t.ok(terminal.written.every((text) => text.startsWith('\u001b[2K\r') && !text.includes('\n')));
  t.match(terminal.written.at(-1), /flood: 0 of about 165 s, a/);
  t.ok(terminal.written.every((text) => text.replace('\u001b[2K\r', '').length < 40));
  progress.note('not installed: ws');
  t.ok(terminal.written.includes('  not installed: ws\n'));
  progress.end();
  t.equal(terminal.written.at(-1), '\u001b[2K\r');
});
