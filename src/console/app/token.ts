// Reads the claims of a token without verifying them: the service verifies, the page only shows.

export type Claims = { userId: string; username: string; role: 'admin' | 'user' };

/** null: not a token of the service. */
export function readClaims(token: string): Claims | null {
  const part = token.split('.')[1];
  if (part === undefined) return null;
  let claims: unknown;
  try {
    const bytes = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
    claims = JSON.parse(text);
  } catch {
    return null; // no base64, or no JSON
  }
  if (typeof claims !== 'object' || claims === null) return null;
  const { sub, username, role } = claims as Record<string, unknown>; // checked in the next line
  if (typeof sub !== 'string' || typeof username !== 'string') return null;
  return { userId: sub, username, role: role === 'admin' ? 'admin' : 'user' };
}
