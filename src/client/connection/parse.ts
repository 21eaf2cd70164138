// Reads the texts of the server as messages. Fields and types that a newer server adds pass through.
import type { ServerMessage, Welcome } from '../../protocol/types.js';

/** Returns a text frame as a message, or null if it is not a JSON object with a `type`. */
export function parseMessage(text: string): ServerMessage | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null; // SyntaxError: the text is from an intermediary, not from the server
  }
  if (typeof parsed !== 'object' || parsed === null || !('type' in parsed)) return null;
  // The fields are not checked here. The tests check what the server sends against its schemas.
  return typeof parsed.type === 'string' ? (parsed as ServerMessage) : null;
}

/** Whether WELCOME has all talkgroups. If not, the others follow (docs/protocol.md, section 3, Snapshots in parts). */
export const isWhole = ({ talkgroups, talkgroups_total }: Welcome): boolean =>
  talkgroups.length >= talkgroups_total;
