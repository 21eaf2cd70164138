// Reads the text of a client as a message, or says why it is none.

import { nullsRemover } from '../../nulls.js';
import type { Ref } from '../../protocol/bodies.js';
import { type ClientMessage, clientMessages } from '../../protocol/client-messages.js';
import { Compile } from '../../typebox.js';

const readers = Object.fromEntries(
  Object.entries(clientMessages).map(([type, schema]) => {
    const validator = Compile(schema);
    return [
      type,
      { removeNulls: nullsRemover(schema), isValid: (value: object): boolean => validator.Check(value) },
    ];
  }),
);

/** As the codec is passed on to every listener, and stands in snapshots. */
const CODEC_BYTES_MAX = 256;

/** A readable message, or why not. `ref` is kept where one can be made out, so that the answer finds its question. */
export type Reading =
  | { readonly kind: 'message'; readonly message: ClientMessage }
  | { readonly kind: 'bad'; readonly code: 'bad_message' | 'unknown_type'; readonly ref: Ref | undefined };

/** Reads one text message. Whatever the bytes, it never throws. */
export function readMessage(text: string): Reading {
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'bad', code: 'bad_message', ref: undefined };
  }
  const { type, ref } = value as { type?: unknown; ref?: unknown }; // a cast to what any object might have
  const known = isRef(ref) ? ref : undefined;
  if (typeof type !== 'string') return { kind: 'bad', code: 'bad_message', ref: known };
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (reader === undefined) return { kind: 'bad', code: 'unknown_type', ref: known };
  reader.removeNulls(value);
  if (!reader.isValid(value) || isTooLong(value) || isBoth(value) || isNoWatch(type, value))
    return { kind: 'bad', code: 'bad_message', ref: known };
  return { kind: 'message', message: value as ClientMessage }; // as its reader has checked
}

/** The `ref` of a text, which its answer carries. */
export function refOf(text: string): Ref | undefined {
  const reading = readMessage(text);
  return reading.kind === 'bad' ? reading.ref : reading.message.ref;
}

/** Audio is held in one way at most. */
const isBoth = (value: object) => 'coalesce_ms' in value && 'bundle_ms' in value;

/** WATCH names either talkgroups or devices. An area, which later versions may take, must not be taken for all. */
const isNoWatch = (type: string, value: object) =>
  type === 'WATCH' && ('area' in value || 'talkgroup_ids' in value === 'device_ids' in value);

function isTooLong({ codec }: { codec?: unknown }): boolean {
  if (codec === undefined) return false;
  try {
    return Buffer.byteLength(JSON.stringify(codec)) > CODEC_BYTES_MAX;
  } catch {
    // Expected: nested deeper than can be written again.
    return true;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Expected: text that is no JSON.
    return null;
  }
}

function isRef(value: unknown): value is Ref {
  return typeof value === 'string' ? value.length <= 64 : Number.isSafeInteger(value);
}
