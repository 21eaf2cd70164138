// Decides which names a typed text means, and which one it means most.

/** How well a text fits a name: 0 is best. null: it does not. Upper and lower case are the same. */
export function rankOf(name: string, text: string): number | null {
  const [whole, wanted] = [name.toLowerCase(), text.trim().toLowerCase()];
  if (wanted === '') return null;
  const words = whole.split(/\s+/);
  if (whole === wanted) return 0;
  if (words.includes(wanted)) return 1;
  if (whole.startsWith(wanted)) return 2;
  if (words.some((word) => word.startsWith(wanted))) return 3;
  if (isOfWords(words, wanted)) return 4;
  return whole.includes(wanted) ? 5 : null;
}

/** Whether the text is made of the beginnings of successive words: `hn` and `hano` are Harbour North, `r24` is Route 24. */
function isOfWords(words: readonly string[], text: string): boolean {
  if (text === '') return true;
  const [word, ...others] = words;
  if (word === undefined) return false;
  for (let length = 1; length <= text.length && word.startsWith(text.slice(0, length)); length += 1)
    if (isOfWords(others, text.slice(length))) return true;
  return false;
}

/** The names that fit best, in their given order where they fit equally well. */
export function bestOf<Item>(
  items: readonly Item[],
  { nameOf, text, max }: { nameOf(item: Item): string; text: string; max: number },
): Item[] {
  return items
    .map((item) => ({ item, rank: rankOf(nameOf(item), text) }))
    .filter((one): one is { item: Item; rank: number } => one.rank !== null)
    .sort((one, other) => one.rank - other.rank)
    .slice(0, max)
    .map(({ item }) => item);
}
