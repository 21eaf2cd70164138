// Separates the fenced blocks of a Markdown page from its prose, by the rules of CommonMark 0.31 (section 4.5).

/** A fenced block: its language, `''` without one, and its lines joined. */
export interface Fence {
  readonly language: string;
  readonly text: string;
  /** The line of the page in which it begins, from 1. */
  readonly at: number;
}

interface OpenFence {
  readonly marker: string;
  /** What precedes the marker: indentation, `>` of a quotation, the bullet of a list item. */
  readonly prefix: string;
  readonly language: string;
  readonly at: number;
  readonly lines: string[];
}

/** The fences, and all lines of the page with those of the fences emptied. Throws when a fence is not closed. */
export function splitFences(page: string): { readonly fences: readonly Fence[]; readonly lines: string[] } {
  const fences: Fence[] = [];
  let open: OpenFence | null = null;
  const lines = page.split('\n').map((line, index) => {
    if (open === null) {
      open = openingOf(line, index + 1);
      return open === null ? line : '';
    }
    if (isClosing(line, open)) {
      fences.push({ language: open.language, text: open.lines.join('\n'), at: open.at });
      open = null;
    } else if (isOutside(line, open)) throw notClosed(open);
    else open.lines.push(line.slice(open.prefix.length));
    return '';
  });
  // TypeScript does not see the assignments of the callback.
  const left = open as OpenFence | null;
  if (left !== null) throw notClosed(left);
  return { fences, lines };
}

/** Backticks after a backtick marker make the line a code span. */
function openingOf(line: string, at: number): OpenFence | null {
  const [, prefix = '', marker, language = ''] =
    /^([\s>]*(?:(?:[-*+]|\d+[.)])\s+)?)(`{3,}(?!.*`)|~{3,})(.*)$/.exec(line) ?? [];
  return marker === undefined ? null : { marker, prefix, language: language.trim(), at, lines: [] };
}

/** The same character, at least as often, and nothing after it. */
function isClosing(line: string, { marker, prefix }: OpenFence): boolean {
  const [, indentation = '', closing = ''] = /^([\s>]*)(`{3,}|~{3,})\s*$/.exec(line) ?? [];
  return closing.startsWith(marker) && indentation.length <= prefix.length + 3;
}

/** A line to the left of its fence ends the list item or the quotation, and the fence with it. */
function isOutside(line: string, { prefix }: OpenFence): boolean {
  return line.trim() !== '' && !/^[\s>]*$/.test(line.slice(0, prefix.length));
}

const notClosed = ({ at }: OpenFence) => new Error(`the fence of line ${at} is not closed`);
