// What files of ours declare, read as text: for tests that compare a list in a document with the one in the code.
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { nodesOf, readSource } from './source-files.js';

// From dist/test/helpers/code.
const ROOT = new URL('../../../../', import.meta.url);

const nodesIn = (path: string) => nodesOf(readSource(path, readFileSync(new URL(path, ROOT), 'utf8')).tree);

/** The default of every setting in these files that is a number. */
export const presetsOf = (...paths: readonly string[]): [name: string, preset: number][] =>
  paths.flatMap(nodesIn).flatMap((node): [string, number][] => {
    if (!ts.isPropertyAssignment(node) || !ts.isCallExpression(node.initializer)) return [];
    const [about] = node.initializer.arguments;
    if (about === undefined || !ts.isObjectLiteralExpression(about)) return [];
    const preset = about.properties
      .filter(ts.isPropertyAssignment)
      .find(({ name }) => name.getText() === 'default')?.initializer;
    if (preset === undefined || !ts.isNumericLiteral(preset)) return [];
    return [[node.name.getText(), Number(preset.text)]];
  });

/** The properties of `object` that the file reads. */
export const readsOf = (path: string, object: string): Set<string> =>
  new Set(
    nodesIn(path)
      .filter(ts.isPropertyAccessExpression)
      .filter(({ expression }) => expression.getText() === object)
      .map(({ name }) => name.text),
  );

/** By name the defaults of what the file destructures, as they are written. Of a constant its value. */
export function defaultsOf(path: string): Map<string, string> {
  const nodes = nodesIn(path);
  const constants = new Map(
    nodes.filter(ts.isVariableDeclaration).map((one) => [one.name.getText(), one.initializer?.getText()]),
  );
  return new Map(
    nodes.filter(ts.isBindingElement).flatMap(({ name, initializer }) => {
      if (initializer === undefined) return [];
      const text = initializer.getText();
      return [[name.getText(), stringIn(initializer) || (constants.get(text) ?? text)]];
    }),
  );
}

const stringIn = (node: ts.Node) => (ts.isStringLiteral(node) ? node.text : '');
