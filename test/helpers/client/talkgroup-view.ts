// A talkgroup as the worker of the console reports it: open, quiet, with the name of its id.
import type { TalkgroupView } from '../../../src/console/worker/messages.js';

export const talkgroupView = (id: string, over: Partial<TalkgroupView> = {}): TalkgroupView => ({
  ...{ id, number: 1, name: id, floorMode: 'open', maxTalkMs: 0, recordingDays: 0, online: 1 },
  ...{ talkers: [], last: null, missed: 0, lostBetweenNodes: 0 },
  ...{ encryption: 'allowed', isLockExpected: false, mayHaveKeys: true, emergenciesTotal: 0, ...over },
});
