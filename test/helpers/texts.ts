// The texts in the code that operators and developers read: errors, log lines, help, CLI output, descriptions.
import ts from 'typescript';
import { nodesOf, type SourceFile } from './source-files.js';

/** Every text of several words in the file, with N where a value is put in. SQL is not among them. */
export function textsOf({ tree }: SourceFile): string[] {
  return nodesOf(tree).flatMap((node) => {
    if (node === tree || ts.isTaggedTemplateExpression(node.parent)) return [];
    if (ts.isStringLiteralLike(node)) return asText(node.text);
    if (!ts.isTemplateExpression(node)) return [];
    return asText(node.head.text + node.templateSpans.map(({ literal }) => `N${literal.text}`).join(''));
  });
}

/** The event phrase of each log call. One that is put together is null. */
export function logPhrasesOf({ tree }: SourceFile): (string | null)[] {
  return nodesOf(tree)
    .filter(ts.isCallExpression)
    .filter(({ expression }) => /\blog\.(?:debug|info|warn|error|fatal)$/.test(expression.getText()))
    .map(({ arguments: given }) => given.at(-1))
    .map((phrase) => (phrase !== undefined && ts.isStringLiteral(phrase) ? phrase.text : null));
}

/** Two words at least. A quoted `$` is in a script for a shell. */
const asText = (text: string) => (/[a-z]{2,},? +[a-z]{2,}/i.test(text) && !text.includes('"$') ? [text] : []);
