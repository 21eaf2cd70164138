// Writes a sentence with names in it. Each name is isolated, so that its direction marks do not turn the rest around.

/** `say` is called with marks in place of the names. The text of the page is that of `say` with the names. */
export function Phrase({ say, names }: { say: (...names: string[]) => string; names: readonly string[] }) {
  // U+E000 and on: private use, in no text of ours.
  const marks = names.map((_, index) => String.fromCharCode(0xe000 + index));
  const parts = say(...marks).split(/([\ue000-\ue0ff])/);
  return (
    <>
      {parts.map((part) => {
        const index = marks.indexOf(part);
        return index < 0 ? part : <bdi key={part}>{names[index]}</bdi>;
      })}
    </>
  );
}
