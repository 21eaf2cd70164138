// The comments of a file, and the titles of its tests: what only developers read.
import ts from 'typescript';
import { nodesOf, type SourceFile } from './source-files.js';

/** Each comment without its marks. Lines that begin with `//` are a comment each. */
export const commentsOf = (file: SourceFile): string[] =>
  (codeOf(file).match(/\/\/[^\n]*|\/\*.*?\*\//gs) ?? []).map((comment) =>
    comment.replaceAll(/^\/\*+|\*\/$/g, '').replaceAll(/^\s*(?:\*|\/\/)/gm, ''),
  );

/** The file with its texts and regular expressions blank: what looks like a comment in one is none. */
function codeOf({ text, tree }: SourceFile): string {
  let [code, at] = ['', 0];
  for (const node of nodesOf(tree)) {
    if (!isText(node)) continue;
    const from = Math.max(at, node.getStart());
    code += text.slice(at, from) + ' '.repeat(Math.max(0, node.end - from));
    at = Math.max(at, node.end);
  }
  return code + text.slice(at);
}

const isText = (node: ts.Node) =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateHead(node) ||
  ts.isTemplateMiddleOrTemplateTail(node) ||
  ts.isRegularExpressionLiteral(node) ||
  ts.isJsxText(node);

/** The titles that are written out, with N where a value is put in. */
export const titlesOf = ({ tree }: SourceFile): string[] =>
  nodesOf(tree)
    .filter(ts.isCallExpression)
    // Of a regular expression `test` has one argument.
    .filter(
      ({ expression, arguments: given }) => /^\w+\.test$/.test(expression.getText()) && given.length > 1,
    )
    .flatMap(({ arguments: [title] }) => (title === undefined ? [] : titleOf(title)));

function titleOf(title: ts.Expression): string[] {
  if (ts.isStringLiteralLike(title)) return [title.text];
  if (!ts.isTemplateExpression(title)) return [];
  return [title.head.text + title.templateSpans.map(({ literal }) => `N${literal.text}`).join('')];
}
