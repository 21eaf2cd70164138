// Reads the texts of the server as messages. Fields and types that a newer server adds pass through.
import type { ServerMessage, Welcome } from '../../protocol/types.js';

/** A text frame as a message, or null for what is no JSON object with a `type`. */
export function parseMessage(text: string): ServerMessage | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null; // SyntaxError: something in between spoke, not our server
  }
  if (typeof parsed !== 'object' || parsed === null || !('type' in parsed)) return null;
  // The fields are taken on trust: the server's tests check what it sends, and the client only follows it.
  return typeof parsed.type === 'string' ? (parsed as ServerMessage) : null;
}

/** Whether it had room for all talkgroups; else the others follow (docs/protocol.md, section 3, Snapshots in parts). */
export const isWhole = ({ talkgroups, talkgroups_total }: Welcome): boolean =>
  talkgroups.length >= talkgroups_total;
