// The steps conversations are made of: bytes to be written, as they are known when their turn comes.
import fc from 'fast-check';

/** One input, or a few frames that belong together. */
export interface Step {
  readonly kind: string;
  readonly bytes: (scene: Placeholders) => Buffer;
  /** The framing stands: whatever the message says, the connection goes on. */
  readonly isSound: (scene: Placeholders) => boolean;
}

/** What `<open>` and the like stand for at that moment. */
export interface Placeholders {
  readonly text: (text: string) => string;
  /** Of the talkgroup with that name. */
  readonly number: (name: TalkgroupName) => number;
}

export type TalkgroupName = (typeof TALKGROUPS)[number];
export const TALKGROUPS = ['open', 'single', 'broadcast', 'quiet', 'none'] as const;

/** A fixed mask: the same input is the same bytes. */
export const MASK = [0xa1, 0xb2, 0xc3, 0xd4];

/** What a report of a failure prints for it. */
export const printedAs = (text: string) => ({ [fc.toStringMethod]: () => text });
