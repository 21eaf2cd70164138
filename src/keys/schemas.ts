// The rotation counter, from which clients derive the current key; the master secret itself stays inside.
import { Type } from 'typebox';
import { Id } from '../http/schemas.js';

/** Query of GET and body of POST. */
export const OfTalkgroup = Type.Object({ talkgroup_id: Type.String() });

export const Rotation = Type.Object({ talkgroup_id: Id, rotation_counter: Type.Integer() });
