// The texts in the code that operators and developers read: errors, log lines, help, CLI output, descriptions.
import ts from 'typescript';
import { nodesOf, type SourceFile } from './source-files.js';

/** The files in which every text is read by a client. */
const CATALOGUES = new Set(['src/errors.ts', 'src/protocol/closes.ts']);

/** The functions with a text for a reader among their arguments: failures, output of commands, help of commander. */
const SAYING =
  /^(?:fail|refuse|reject|fatal|report|console\.\w+|.*\blog\.(?:debug|info|warn|error|fatal)|.*\.(?:description|argument|option|requiredOption))$/s;

/** The properties with a text for a reader. */
const TEXT_PROPERTIES = new Set(['description', 'summary', 'help', 'message', 'reason', 'detail']);

/**
 * Every text of several words in the file, with N where a value is put in. SQL is not among them.
 * Where a reader is certain (errors, log phrases, catalogues, help), texts of one word are included.
 */
export function textsOf({ path, tree }: SourceFile): string[] {
  const nodes = nodesOf(tree);
  const shown = new Set(nodes.flatMap(shownBy).flatMap(textNodesOf));
  const isShown = (node: ts.Node) => shown.has(node) || (CATALOGUES.has(path) && isValue(node));
  return nodes.flatMap((node) => {
    if (node === tree || ts.isTaggedTemplateExpression(node.parent)) return [];
    const text = textOf(node);
    return text !== null && (isShown(node) ? /[a-z]/i.test(text) : isProse(text)) ? [text] : [];
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

/** The expressions of a node that a reader gets to see. */
function shownBy(node: ts.Node): readonly ts.Expression[] {
  if (ts.isNewExpression(node)) return /Error$/.test(node.expression.getText()) ? (node.arguments ?? []) : [];
  if (ts.isCallExpression(node)) {
    const isSaying =
      node.expression.kind === ts.SyntaxKind.SuperKeyword || SAYING.test(node.expression.getText());
    return isSaying ? node.arguments : [];
  }
  const isText = ts.isPropertyAssignment(node) && TEXT_PROPERTIES.has(node.name.getText());
  return isText ? [node.initializer] : [];
}

/** The strings and templates that an expression can result in. */
function textNodesOf(expression: ts.Expression): ts.Node[] {
  if (ts.isParenthesizedExpression(expression) || ts.isAsExpression(expression))
    return textNodesOf(expression.expression);
  if (ts.isConditionalExpression(expression))
    return [expression.whenTrue, expression.whenFalse].flatMap(textNodesOf);
  if (ts.isBinaryExpression(expression)) return [expression.left, expression.right].flatMap(textNodesOf);
  return [expression];
}

/** A literal that is neither a type, the name of a property nor the path of an import. */
const isValue = ({ parent }: ts.Node) =>
  ts.isArrayLiteralExpression(parent) || ts.isPropertyAssignment(parent) || ts.isCallExpression(parent);

function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `N${literal.text}`).join('');
}

/** Two words at least. A quoted `$` is in a script for a shell. */
const isProse = (text: string) => /[a-z]{2,},? +[a-z]{2,}/i.test(text) && !text.includes('"$');
