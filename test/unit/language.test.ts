// The language of the pages, and of texts, comments and test titles in the code: what the rules of writing forbid can only
// become less.
import t from 'tap';
import { commentsOf, titlesOf } from '../helpers/code/comments.js';
import { readSource, sourceFiles } from '../helpers/code/source-files.js';
import { logPhrasesOf, textsOf } from '../helpers/code/texts.js';
import { markdownFiles, readPage } from '../helpers/pages/pages.js';
import {
  type Block,
  blocksOf,
  findingsIn,
  findingsInCode,
  type Kind,
  kinds,
  wordsIn,
} from '../helpers/pages/prose.js';

/** `comments`: of comments and test titles. */
type Ceilings = Readonly<Partial<Record<Kind | 'comments', number>>>;

const CEILINGS = 'test/unit/language.json';

const sources = [...sourceFiles('src'), ...sourceFiles('src', '.mjs')];
const pages = new Map(markdownFiles().map((path) => [path, blocksOf(readPage(path))]));
const texts = new Map(sources.map((file) => [file.path, textsOf(file).flatMap(blocksOf)]));

const ceilings: Readonly<Record<string, Ceilings>> = JSON.parse(readPage(CEILINGS));

t.test(`no file has more findings than ${CEILINGS} allows, and none has fewer`, async (t) => {
  const files = new Map([...pages, ...texts]);
  for (const path of new Set([...files.keys(), ...Object.keys(ceilings)])) {
    t.strictSame(breachesOf(files.get(path) ?? [], ceilings[path]), [], path);
  }
});

t.test('comments and test titles have no semicolon, and no words such as `whoever`', async (t) => {
  const files = [...sources, ...sourceFiles('bench'), ...sourceFiles('test')];
  let [comments, titles] = [0, 0];
  for (const file of files) {
    const [told, named] = [commentsOf(file), file.path.startsWith('test/') ? titlesOf(file) : []];
    comments += told.length;
    titles += named.length;
    const found = findingsInCode(told.flatMap(blocksOf), named.flatMap(blocksOf));
    const ceiling = ceilings[file.path]?.comments ?? 0;
    if (found.length !== ceiling)
      t.fail(`${file.path}: ${found.length}, not ${ceiling}: ${found.join(' | ')}`);
  }
  t.ok(comments > 8000 && titles > 2000, `${comments} comments and ${titles} titles are read`);
});

t.test('a comment and a title are found wherever they stand', async (t) => {
  const file = readSource(
    'test/x.test.tsx',
    `// one; two
/**
 * Whoever
 * asks.
 */
t.test('who waits', { skip: /* his */ true }, async () => (
  <p>{/* somebody */}</p> // nobody
));
t.test(\`\${who} of everybody\`, run);
/he/.test('he; him'); // \`he; him\` as code
`,
  );
  t.strictSame(findingsInCode(commentsOf(file).flatMap(blocksOf), titlesOf(file).flatMap(blocksOf)).sort(), [
    ...['Whoever', 'everybody', 'his', 'nobody', 'one;', 'somebody', 'who waits'],
  ]);
});

const prose = [...pages.values()].flat();
const words = prose.reduce((sum, { text }) => sum + wordsIn(text), 0);
const semicolons = (findingsIn(prose, 'semicolons').length / words) * 1000;
const relatives =
  (prose.flatMap(({ text }) => text.match(/\b(?:whoever|whose|whom)\b/gi) ?? []).length / words) * 1000;

t.test(
  `per 1,000 of ${words} words of Markdown ${semicolons.toFixed(2)} semicolons (at most 5)`,
  async (t) => {
    t.ok(words > 40_000, 'the pages are read');
    t.ok(semicolons <= 5);
  },
);

t.test(
  `per 1,000 words of Markdown ${relatives.toFixed(2)} of \`whoever\`, \`whose\`, \`whom\` (at most 1)`,
  async (t) => {
    t.ok(relatives <= 1);
  },
);

t.test('every log line has a fixed event phrase: the values are in its fields', async (t) => {
  const composed = sources.filter((file) => logPhrasesOf(file).includes(null)).map(({ path }) => path);
  t.strictSame(composed, []);
  t.ok(sources.flatMap(logPhrasesOf).length > 40, 'the log calls are found');
});

t.test('a log line that is put together is found', async (t) => {
  const source = readSource('src/x.ts', "relay.log.info({ user }, 'connected'); log.warn('user ' + user);");
  t.strictSame(logPhrasesOf(source), ['connected', null]);
});

const thirty = `The relay ${'sends one more frame '.repeat(7)}.`;
for (const { kind, wrong, right } of [
  {
    kind: 'semicolons',
    wrong: ['Stop the service; then copy.', '| cell | one; two |', '> a; b', '# A; B'],
    right: [
      'Run `a; b` first.',
      '```sh\na; b\n```',
      '   ```sh\n   a; b\n   ```',
      'AT&amp;T',
      '<!-- a; b -->',
    ],
  },
  {
    kind: 'long sentences',
    wrong: [thirty.replace('.', 'now.'), thirty.replace(' .', '\nnow.'), `- ${thirty.replace('.', 'now.')}`],
    right: [thirty, `${thirty} ${thirty}`, `${thirty}\n\n${thirty}`, `| ${thirty} | ${thirty} |`],
  },
  {
    kind: 'private words',
    wrong: [
      'Both doors are open.',
      'Parked sessions',
      'The login is refused.',
      'It closes after so many bursts.',
    ],
    right: [
      'The README',
      'the `gate` label',
      'See [it](doors.md).',
      'The service rejects the login with 503.',
    ],
  },
  {
    kind: 'pronouns',
    wrong: [
      'Whoever talks is heard.',
      'a user whose phone was lost',
      'Ask. Who waits keeps the place.',
      'he',
    ],
    right: ['Who may call it?', '## What you need', 'the user who talks', 'The frames they send'],
  },
] as const) {
  t.test(`${kind} are found in prose, not in code`, async (t) => {
    for (const text of wrong) t.equal(findingsIn(blocksOf(text), kind).length, 1, text);
    for (const text of right) t.strictSame(findingsIn(blocksOf(text), kind), [], text);
  });
}

t.test('texts are read from strings and templates, not from SQL or single words', async (t) => {
  const file = readSource(
    'src/x.ts',
    `sql\`select one\`; fail('no such user'); send('gone'); fail(\`\${name} is an admin, and has \${n} tokens\`);`,
  );
  t.strictSame(textsOf(file), ['no such user', 'N is an admin, and has N tokens']);
});

t.test('a private word that is the whole text is found where a reader gets it', async (t) => {
  for (const code of [
    "relay.log.info({ user }, 'gone');",
    "log.warn('gone');",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of the code that is read
    'fail(`${name}: gone, ${n}`);',
    "throw new Error('gone');",
    "throw new AppError('bad_request', isLost ? 'gone' : 'lost');",
    "class E extends Error { constructor() { super('gone'); } }",
    "fail('user ' + 'gone');",
    "program.command('x').description('gone');",
    "const route = { schema: { description: 'gone' } };",
  ]) {
    const blocks = textsOf(readSource('src/x.ts', code)).flatMap(blocksOf);
    t.equal(findingsIn(blocks, 'private words').length, 1, code);
  }
  const catalogue = readSource(
    'src/errors.ts',
    "type Gone = 'gone'; const refusals = { gone: [404, 'gone'] };",
  );
  t.strictSame(textsOf(catalogue), ['gone']);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a template of the code that is read
  const both = textsOf(readSource('src/x.ts', 'fail(`${name}: gone; parked`)')).flatMap(blocksOf);
  t.strictSame(
    kinds.map((kind) => findingsIn(both, kind).length),
    [1, 0, 2, 0],
  );
});

t.test('a fence ends at a marker of its own kind and length, and must end', async (t) => {
  for (const page of [
    '````md\n```sh\na; b\n````\nOne; two.',
    '~~~md\n```sh\na; b\n~~~\nOne; two.',
    '```md\n~~~\na; b\n```\nOne; two.',
    '```md\n``` js\na; b\n```\nOne; two.',
    '- ```sh\n  a; b\n  ```\n\nOne; two.',
    '> ```sh\n> a; b\n> ```\n\nOne; two.',
    '```a; b``` One; two.',
  ]) {
    t.strictSame(findingsIn(blocksOf(page), 'semicolons').length, 1, page);
  }
  for (const page of [
    '```sh\na',
    '````sh\na\n```',
    '~~~\na\n```',
    '1. x\n   ```sh\n   a\n\nOne.\n```sh\nb\n```',
  ]) {
    t.throws(() => blocksOf(page), /the fence of line \d is not closed/, page);
  }
});

t.test('a count above the ceiling fails, and one below it until the ceiling is lowered', async (t) => {
  const blocks = blocksOf('One; two; three.');
  t.strictSame(breachesOf(blocks, { semicolons: 2 }), []);
  t.match(breachesOf(blocks, { semicolons: 1 }), [/^2 semicolons, at most 1: /]);
  t.match(breachesOf(blocks, undefined), [/^2 semicolons, at most 0: /]);
  t.strictSame(breachesOf(blocks, { semicolons: 3 }), ['2 semicolons: lower the ceiling to 2']);
});

function breachesOf(blocks: readonly Block[], ceilings: Ceilings = {}): string[] {
  return kinds.flatMap((kind) => {
    const found = findingsIn(blocks, kind);
    const { length: count } = found;
    const ceiling = ceilings[kind] ?? 0;
    if (count > ceiling) return [`${count} ${kind}, at most ${ceiling}: ${found.join(' | ')}`];
    return count < ceiling ? [`${count} ${kind}: lower the ceiling to ${count}`] : [];
  });
}
