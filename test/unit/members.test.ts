// The users and talkgroups that a relay holds, and what it remembers of those it holds no longer.
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { Bucket } from '../../src/relay/limits/bucket.js';
import { UserBudget } from '../../src/relay/limits/budget.js';
import { createMembers } from '../../src/relay/members/books.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

const fire = talkgroupRow();
const accountOf = (name: string) => accountRow(name, { memberships: [fire] });
const budget = () =>
  new UserBudget({ framesPerSecond: 110, userBytesPerSecond: 65_536, userDeliveriesPerSecond: 200_000 }, 0);

t.test('a user who comes back finds the budgets as they were left', async (t) => {
  const members = createMembers(() => 0);
  const ann = members.hold(accountOf('ann'));
  const [inFire, inAll, snapshots] = [budget(), budget(), new Bucket(100, 2000, 0)];
  const membership = ann.memberships.get(fire.number);
  t.ok(membership);
  Object.assign(membership ?? {}, { budget: inFire });
  Object.assign(ann, { budget: inAll, snapshots });
  members.drop(ann.id);
  t.equal(members.users.size, 0);

  const again = members.hold(accountOf('ann'));
  t.not(again, ann);
  t.equal(again.budget, inAll);
  t.equal(again.snapshots, snapshots);
  t.equal(again.memberships.get(fire.number)?.budget, inFire);
});

t.test(
  'the budgets of 10,000 users who left are remembered, the longest gone is forgotten first',
  async (t) => {
    const members = createMembers(() => 0);
    const comes = (id: string) => members.hold(accountOf(id));
    for (let number = 0; number <= 10_000; number++) {
      comes(`user ${number}`).budget = budget();
      members.drop(`user ${number}` as UserId);
    }
    t.equal(comes('user 0').budget, null);
    t.not(comes('user 1').budget, null);
    comes('only listened');
    members.drop('only listened' as UserId);
    t.not(comes('user 2').budget, null, 'who spent nothing takes no place');
  },
);
