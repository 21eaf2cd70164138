// Breaks a radio's connection without a close, and waits until the relay has noticed.
import type { Json, Radio } from '../service/service.js';

/** Resolves when `onlooker`, a member of the talkgroup, is told of one session less. */
export async function dies(radio: Radio, onlooker: Radio, { id }: { id: string }): Promise<void> {
  const before = await onlineFor(onlooker, id);
  radio.socket.terminate();
  while ((await onlineFor(onlooker, id)) === before) await new Promise((resolve) => setTimeout(resolve, 20)); // within the rate of messages
}

async function onlineFor(radio: Radio, id: string): Promise<unknown> {
  const { talkgroups } = await radio.asks({ type: 'SUBSCRIBE', talkgroup_ids: [id] });
  return (talkgroups as Json[])[0]?.online;
}
