// What a session keeps of the floor when its user may not have keys any more.
import t from 'tap';
import type { TalkgroupId, UserId } from '../../src/ids.js';
import { Ask } from '../../src/relay/delivery/ask.js';
import { Talk } from '../../src/relay/floor/talk.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import { followKeys } from '../../src/relay/session/permissions.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

t.test('a talker without keys loses its burst also while it asks for the floor', async (t) => {
  const user = new User(accountRow('ann', { id: 'ann' as UserId }));
  const talkgroup = new Talkgroup(talkgroupRow({ id: 'fire' as TalkgroupId, encryption: 'required' }));
  const membership = new Membership(user, talkgroup, 'depot', false);
  const talking = {
    number: 7,
    isLive: true,
    socket: null,
    send() {},
    nextBurst: () => 1,
    mayBeTold: () => true,
    refuse() {},
  };
  const talk = new Talk(talking, membership, { framesPerSecond: 110 } as never, 0);
  talk.claim = 'talks';
  talk.ask = new Ask(false, undefined);
  let answered = 0;
  talk.ask.keepText(() => answered++);
  const removed: string[] = [];
  const later: (() => void)[] = [];
  followKeys(
    {
      reception: { unhear() {}, followKeys() {} },
      isOver: false,
      talkAt: () => talk,
      later: (act) => later.push(act),
    },
    membership,
    {
      floor: {
        withdraw() {},
        remove(talk, code) {
          removed.push(code);
          return talk.ask?.takeTexts() ?? [];
        },
      },
      holding: { discard() {} },
      nowMs: () => 0,
    },
  );
  t.strictSame(removed, ['mode']);
  for (const act of later) act();
  t.equal(answered, 1, 'what waited behind the question is answered');
});
