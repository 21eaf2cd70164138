// Talkgroups that are recorded, and what REST tells of their recordings.
import type { Test } from 'tap';
import { eventually } from '../eventually.js';
import type { Person, Service } from './service.js';

export interface Recording {
  readonly recording_id: string;
  readonly code: string | null;
  readonly [key: string]: unknown;
}

type Caller = Pick<Person, 'call' | 'token'>;

export const recordedIn = (s: Pick<Service, 'admin' | 'crew' | 'rest'>) => ({
  /** A talkgroup that is recorded, as all of its radios know. */
  async recorded(t: Test, count: number, name: string, days = 30) {
    const group = await s.crew(t, count, { name });
    await s.admin.patch(`/talkgroups/${group.id}`, { recording_days: days });
    for (const radio of group.radios)
      t.match(await radio.hears('TALKGROUP_CHANGED'), { recording_days: days });
    return group;
  },
  listOf,
  endedOf,
  framesOf: (caller: Caller, id: string) => framesAt(s.rest, caller, id),
});

export async function listOf(person: Pick<Caller, 'call'>, query: string): Promise<Recording[]> {
  const { status, body } = await person.call('GET', `/recordings?${query}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.recordings as Recording[];
}

/** All recordings of the talkgroup that the person may hear, when there are so many with an end. */
export const endedOf = (person: Pick<Caller, 'call'>, talkgroup: string, count: number) =>
  eventually(async () => {
    const found = await listOf(person, `talkgroup_id=${talkgroup}&order=oldest`);
    if (found.filter(({ code }) => code !== null).length < count) throw new Error(JSON.stringify(found));
    return found;
  });

/** At the REST API of this node. */
export async function framesAt(rest: string, { token }: Pick<Caller, 'token'>, id: string, method = 'GET') {
  const answer = await fetch(`${rest}/recordings/${id}/frames`, {
    ...{ method, headers: { authorization: `Bearer ${token}` } },
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  const frames: Buffer[] = [];
  if (answer.status === 200)
    for (let at = 0; at < bytes.length; ) {
      const length = bytes.readUInt16BE(at);
      frames.push(bytes.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  const { status, headers } = answer;
  return { status, frames, type: headers.get('content-type'), cache: headers.get('cache-control'), bytes };
}
