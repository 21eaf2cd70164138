// Names the origins of the operator's map that the page could not load.

/** null: no address, or one of the page itself. */
export function foreignOrigin(address: string, own: string): string | null {
  try {
    const { origin, protocol } = new URL(address, own);
    return origin === new URL(own).origin || !/^https?:$/.test(protocol) ? null : origin;
  } catch {
    return null; // TypeError: not an address, such as `inline`
  }
}
