// Talkgroups of a test's own radio, in which the test lets users talk.
import type { TalkerView, TalkgroupView } from '../../../src/console/worker/messages.js';
import { talkgroupView } from '../client/talkgroup-view.js';
import type { FakeRadio } from './fake-radio.js';

export type BusyRadio = {
  /** The id of a talkgroup. */
  id(name: string): string;
  talks(name: string, username: string, over?: Partial<TalkerView>): Promise<void>;
  /** Ends the talk of a user, which is then one of the last ten. With `callId` it can be replayed. */
  ends(name: string, username: string, callId?: number): Promise<void>;
  changes(name: string, over: Partial<TalkgroupView>): Promise<void>;
};

/** The page gets these talkgroups beside that of the fake radio. */
export async function busyRadioOf(radio: FakeRadio, names: readonly string[]): Promise<BusyRadio> {
  const views = new Map(names.map((name, index) => [name, talkgroupView(`talkgroup-${index}`, { name })]));
  let session = 10;
  const viewFor = (name: string) => {
    const view = views.get(name);
    if (view === undefined) throw new Error(`no talkgroup ${name}`);
    return view;
  };
  await radio.changes({ talkgroups: [...views.values()] });
  return {
    id: (name) => viewFor(name).id,
    async talks(name, username, over = {}) {
      session += 1;
      const talker: TalkerView = {
        ...{ session, burst: 1, username, startedAtMs: Date.now(), emergency: false, isOwn: false },
        ...{ lock: 'clear', unopened: null, ...over },
      };
      await change(name, { talkers: [...viewFor(name).talkers, talker] });
    },
    async ends(name, username, callId) {
      const { id, talkers } = viewFor(name);
      const ended = talkers.find((talker) => talker.username === username);
      if (ended === undefined) throw new Error(`${username} does not talk in ${name}`);
      const endedAtMs = Date.now();
      const { isOwn, startedAtMs } = ended;
      const durationMs = endedAtMs - startedAtMs;
      await change(
        name,
        {
          talkers: talkers.filter((talker) => talker !== ended),
          last: { username, endedAtMs, isCutOff: false },
        },
        [
          {
            ...{ talkgroupId: id, talkgroup: name, username, isOwn, endedAtMs, durationMs },
            ...(callId !== undefined && { callId }),
          },
        ],
      );
    },
    changes: change,
  };

  async function change(
    name: string,
    over: Partial<TalkgroupView>,
    recent: Parameters<FakeRadio['changes']>[0]['recent'] = [],
  ): Promise<void> {
    const view = { ...viewFor(name), ...over };
    views.set(name, view);
    await radio.changes({ talkgroups: [view], recent });
  }
}
