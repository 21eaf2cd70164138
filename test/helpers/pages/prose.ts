// Finds what the rules of writing forbid, in the prose of a page and in a single text of the code.
import { splitFences } from './fences.js';

/** A paragraph, a heading, a list item or a table cell, with each code span as one word. */
export interface Block {
  readonly text: string;
  readonly isHeading: boolean;
}

export type Kind = keyof typeof detectors;

const SENTENCE_WORDS_MAX = 30;

/** Words of this project's own, each with a standard term. Only those that a pattern can tell from the common use. */
const PRIVATE_WORDS = [
  /\bdoors?\b/,
  /(?<!-)\b(?:tide|crowd|flood|storm)s?\b/,
  /\bheld (?:audio|frames)\b|\basks? for less\b/,
  /\bparked\b|\bkept for (?:its|their) return\b|\bgiven up\b/,
  /\b(?:out of|back in) the audio\b/,
  /\b(?:is|are|was|were|be) told\b|\bhears? of it\b/,
  /\bwithdrawn\b|\b(?:is|are|stays?) in doubt\b/,
  /\bpulses?\b/,
  /\b(?:a|the|its|last|latest|newest|GPS|every) fix\b|\bfixes\b/,
  /\bnotices?\b/,
  /\bgates?\b/,
  /\bthe engine\b/,
  /\bdraws? (?:a|the) key\b|\bdrawn\b/,
  /\b(?:stands?|stood|lies|lay) (?:in|at|on|there|behind)\b|\bright behind\b/,
  /\bso (?:many|long)\b/,
  /\bas (?:it is|they are)\b/,
  /\b(?:un)?wrap(?:s|ped|ping)?\b/,
  /\brefus(?:e|es|ed|ing|als?)\b|\bturned away\b/,
  /\b(?:no|any|some|every)body\b/,
  /\bgone\b/,
];

const PRONOUN = /\b(?:whoever|whomever|whose|whom|whatever|whichever|he|his|him|himself)\b/gi;

/** By kind the findings of a block, as quotations. */
const detectors = {
  semicolons: ({ text }: Block) => text.match(/[^;]{0,20};/g) ?? [],
  'long sentences': ({ text }: Block) =>
    sentencesOf(text).filter((sentence) => wordsIn(sentence) > SENTENCE_WORDS_MAX),
  'private words': ({ text }: Block) =>
    PRIVATE_WORDS.flatMap((word) => text.match(new RegExp(word.source, 'gi')) ?? []),
  pronouns: ({ text, isHeading }: Block) => [
    ...(text.match(PRONOUN) ?? []),
    ...(isHeading ? [] : sentencesOf(text).filter((sentence) => /^(?:Who|What)\b[^?]*$/.test(sentence))),
  ],
};

export const kinds = Object.keys(detectors) as readonly Kind[];

/** Pronouns of a person and nouns of no definite one: a comment and a title name who acts. */
const PERSON = /\b(?:whoever|whomever|he|his|him|himself|(?:no|any|some|every)body|crowds?)\b/gi;

/** What comments and titles of tests have of it. A title has a subject, so it does not begin with Who. */
export const findingsInCode = (comments: readonly Block[], titles: readonly Block[]): string[] => [
  ...[...comments, ...titles].flatMap((block) => [
    ...detectors.semicolons(block),
    ...(block.text.match(PERSON) ?? []),
  ]),
  ...titles.flatMap(({ text }) => text.match(/^whos?e?\b.{0,20}/i) ?? []),
];

export const findingsIn = (blocks: readonly Block[], kind: Kind): string[] => blocks.flatMap(detectors[kind]);

/** The prose of a Markdown page, or of a text of the code: no fences, no code, no addresses. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const add = (text: string, isHeading = false) => blocks.push({ text: plain(text), isHeading });
  const end = () => {
    if (paragraph.length > 0) add(paragraph.join(' '));
    paragraph = [];
  };
  for (const line of withoutFences(page)) {
    if (line === '' || /^(?:#|\||[-*+]\s|\d+\.\s)/.test(line)) end();
    if (line.startsWith('|')) for (const cell of line.split(/(?<!\\)\|/)) add(cell);
    else if (line.startsWith('#')) add(line.replace(/^#+/, ''), true);
    else if (line !== '') paragraph.push(line.replace(/^(?:[-*+]|\d+\.)\s+/, ''));
  }
  end();
  return blocks.filter(({ text }) => text !== '');
}

export const wordsIn = (text: string): number => text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;

const sentencesOf = (text: string) =>
  text.split(/(?<=[.!?]["')*_]*)\s+(?=["'(*_]*(?:[\p{Lu}\p{N}]|uWebSockets))/u);

/** A code span becomes the word Code, which can begin a sentence. */
function plain(text: string): string {
  return text
    .replaceAll(/`[^`]+`/g, 'Code')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<\/?[a-z][^>]*>|&\w+;/gi, ' ')
    .trim();
}

/** The lines, trimmed. Those of fences, comments and addresses are empty. */
function withoutFences(page: string): string[] {
  return splitFences(page.replaceAll(/<!--.*?-->/gs, '')).lines.map((line) => {
    const text = line.trim().replace(/^>\s?/, '');
    return /^\[[^\]]+\]:\s/.test(text) ? '' : text;
  });
}
