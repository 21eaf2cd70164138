// Makes the address of the relay from the options of a radio.

/** What this library calls itself in the log of the service: its name and version, as in package.json. */
export const LIBRARY = 'talkgroup-radio-service/0.1.0';

/** Without a session to resume. Throws if `url` is empty. */
export function relayAddress({
  url,
  token,
  client = LIBRARY,
}: {
  url: string;
  token: string;
  client?: string;
}): string {
  if (!url) throw new TypeError('url must be the address of the relay, such as wss://radio.example');
  const query = `token=${encodeURIComponent(token)}&client=${encodeURIComponent(client)}`;
  return `${url.replace(/\/(ws\/?)?$/, '')}/ws?${query}`;
}
