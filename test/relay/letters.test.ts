// Names and answers in any letters, as bytes on the wire: a client drops a connection whose text is not UTF-8.
import t from 'tap';
import { service } from '../helpers/service/service.js';

/** One byte, two, three and four in UTF-8. The engine keeps the first two in a string of one byte a letter. */
const NAMES = ['ascii', 'é', 'José Ñandú', 'Ørsted ÿ', 'Жанна', '漢字', '😀', 'é and 😀', '\u{10ffff}'];

t.test('names in any letters reach radios as they were written', async (t) => {
  const s = await service(t);
  for (const name of NAMES) {
    const [ann, bob] = [await s.person(`${name} A`), await s.person(`${name} B`)];
    const group = await s.talkgroup(name, ann, bob);
    const [a, b] = [await ann.radio(), await bob.radio()];
    t.match(
      b.welcome,
      { username: `${name} B`, talkgroups: [{ name }] },
      `${name}: WELCOME, sent to one socket`,
    );
    a.speaks(group.number, 'hello', { start: true, end: true });
    t.match(await b.hears('TALK_STARTED'), { username: `${name} A` }, `${name}: TALK_STARTED, published`);
    t.equal((await b.hearsFrame()).text, 'hello');
    await s.call('PATCH', `/talkgroups/${group.id}`, s.admin.token, { name: `${name} 2` });
    t.match(
      await b.hears('TALKGROUP_CHANGED'),
      { name: `${name} 2` },
      `${name}: TALKGROUP_CHANGED, published`,
    );
    b.says({ type: 'PING', t: 1, ref: name });
    t.match(await b.hears('PONG'), { ref: name }, `${name}: PONG, an answer`);
  }
});

t.test('half a surrogate pair is no name, and comes back in a ref as it was sent', async (t) => {
  const s = await service(t);
  const half = 'a\ud800';
  const refused = await s.call('POST', '/talkgroups', s.admin.token, { name: half });
  t.equal(refused.status, 400);
  const radio = await (await s.person('ann')).radio();
  radio.says({ type: 'PING', t: 1, ref: half });
  t.match(await radio.hears('PONG'), { ref: half });
});
