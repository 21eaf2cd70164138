// The project's own TypeScript files, read for what they import and say.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export interface SourceFile {
  /** From the project's root, with forward slashes: `src/protocol/frame.ts`. */
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
  readonly imports: readonly Import[];
}

export interface Import {
  /** A file of ours by its path, else the package (`@fastify/jwt`, `node:http`). */
  readonly from: string;
  /** Gone after compilation. */
  readonly isType: boolean;
}

// From dist/test/helpers/code.
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Every file below one of the project's folders with one of these endings. */
export function sourceFiles(folder: string, ...endings: string[]): SourceFile[] {
  const wanted = endings.length > 0 ? endings : ['.ts', '.tsx'];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => wanted.some((ending) => name.endsWith(ending)))
    .sort()
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .map((path) => readSource(path, readFileSync(join(ROOT, path), 'utf8')));
}

/** A file as if it stood at `path`. */
export function readSource(path: string, text: string): SourceFile {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports = nodesOf(tree).flatMap((node) => {
    const found = importOf(node);
    return found === null ? [] : [{ ...found, from: resolve(path, found.from) }];
  });
  return { path, text, tree, imports };
}

/** Every node of the tree, parents first. */
export function nodesOf(tree: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node) => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return nodes;
}

function importOf(node: ts.Node): Import | null {
  if (ts.isImportDeclaration(node)) {
    // `import { type A }` alone is not enough: the module is loaded all the same.
    return { from: textOf(node.moduleSpecifier), isType: node.importClause?.isTypeOnly ?? false };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    return { from: textOf(node.moduleSpecifier), isType: node.isTypeOnly };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { from: textOf(node.argument.literal), isType: true };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return { from: textOf(node.arguments[0]), isType: false };
  }
  return null;
}

function textOf(node: ts.Node | undefined): string {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : 'something computed';
}

function resolve(path: string, specifier: string): string {
  if (specifier.startsWith('.')) {
    const file = posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
    return existsSync(join(ROOT, `${file}x`)) ? `${file}x` : file;
  }
  const [scope = '', name] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}
