// The bytes of answers that wait to be read, in all and of one owner.
import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import t from 'tap';
import { limitAnswers } from '../../src/http/under-way.js';

const KB = 1000;

/** An answer that is being sent until `raw` says that it closed. */
function answer() {
  const raw = Object.assign(new EventEmitter(), { socket: { destroyed: false } });
  return { raw, reply: { raw } as unknown as FastifyReply };
}

function limiting() {
  const { admit, count } = limitAnswers(900 * KB);
  return ({ reply }: ReturnType<typeof answer>, sub: string, bytes: number) => {
    const request = { user: { sub }, ip: '127.0.0.1' };
    admit(request, bytes);
    count(request, reply, bytes);
  };
}

t.test('answers wait up to a bound in all, and a third of it for one owner', async (t) => {
  const limit = limiting();
  const [first, second] = [answer(), answer()];
  limit(first, 'ann', 200 * KB);
  limit(second, 'ann', 100 * KB);
  t.throws(() => limit(answer(), 'ann', 17 * KB), { code: 'too_many_requests' });
  limit(answer(), 'ann', 16 * KB); // a small one costs no more than its connection
  limit(answer(), 'bob', 300 * KB);
  limit(answer(), 'cid', 300 * KB);
  t.throws(() => limit(answer(), 'dan', 17 * KB), { code: 'too_many_requests' }, 'all is taken');
  second.raw.emit('close');
  limit(answer(), 'dan', 100 * KB);
});

t.test('the first answer of an owner fits however long it is, unless others take all', async (t) => {
  const limit = limiting();
  const long = answer();
  limit(long, 'ann', 5000 * KB);
  t.throws(() => limit(answer(), 'bob', 17 * KB), { code: 'too_many_requests' });
  long.raw.emit('close');
  limit(answer(), 'bob', 500 * KB);
  t.throws(() => limit(answer(), 'cid', 500 * KB), { code: 'too_many_requests' });
});

t.test('what is sent to a connection that is gone does not count: nothing would end it', async () => {
  const limit = limiting();
  const gone = answer();
  gone.raw.socket.destroyed = true;
  limit(gone, 'ann', 900 * KB);
  limit(answer(), 'ann', 900 * KB);
});
