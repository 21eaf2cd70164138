// Lists the frames of a recording that are not stored.

/** Consecutive frames. `first` counts from 1 in the recording. */
export interface Frames {
  readonly first: number;
  readonly frames: number;
}

/** First frame in the burst, and number of frames, of a part. */
type Part = readonly [from: number, frames: number];

/**
 * `firstFrame` is the index of the first frame of the recording in its burst, and `frames` the number of those that were
 * relayed. null: it has no end, so that only frames in front of stored ones are known to be missing.
 */
export function missingFrames({
  firstFrame,
  frames,
  parts,
}: {
  readonly firstFrame: number;
  readonly frames: number | null;
  readonly parts: readonly Part[];
}): Frames[] {
  const missing: Frames[] = [];
  let next = firstFrame;
  const upTo = (end: number) => {
    if (end > next) missing.push({ first: next - firstFrame + 1, frames: end - next });
  };
  for (const [from, count] of [...parts].sort(([one], [other]) => one - other)) {
    upTo(from);
    next = Math.max(next, from + count);
  }
  if (frames !== null) upTo(firstFrame + frames);
  return missing;
}
