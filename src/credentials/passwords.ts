// States what a password is: one definition for registration, login, the settings and the command line.

/** bcrypt reads no further (72 bytes of UTF-8). A longer password would match its own prefix. */
export const PASSWORD_BYTES_MAX = 72;

/**
 * A password that bcrypt tells from every other: it reads 72 bytes, takes NUL for the end and starts over, and
 * unpaired surrogates would all become the same replacement character.
 */
export function isPassword(text: string): boolean {
  const bytes = Buffer.byteLength(text);
  return bytes >= 1 && bytes <= PASSWORD_BYTES_MAX && !/[\0\p{Cs}]/u.test(text);
}
