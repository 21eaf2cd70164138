// Markup by tagged template: what is put in is text and gets escaped, unless it is markup itself.

/** Needs no more escaping. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | null | readonly Html[];

/** The whole page is made with it. null leaves nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { markup: strings.map((string, i) => string + markupOf(parts[i] ?? null)).join('') };
}

/** For markup that others made and we trust. */
export const raw = (markup: string): Html => ({ markup });

function markupOf(part: Part): string {
  if (part === null) return '';
  if (typeof part === 'object') return 'markup' in part ? part.markup : part.map(markupOf).join('\n');
  return `${part}`.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
