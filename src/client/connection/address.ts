// Makes the address of the relay from the options of a radio.

/** Without a session to resume. Throws if `url` is empty. */
export function relayAddress({ url, token }: { url: string; token: string }): string {
  if (!url) throw new TypeError('url must be the address of the relay, such as wss://radio.example');
  return `${url.replace(/\/(ws\/?)?$/, '')}/ws?token=${encodeURIComponent(token)}`;
}
