// Statements that clients cause, and reads of rights that must not wait behind them.
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { service } from '../helpers/service/service.js';

t.setTimeout(300_000);

/** Of ids that are unknown here. Each costs a statement. */
const CLEARS_AT_ONCE = 5;
const SOCKETS = 12;

for (const threads of ['0', '1']) {
  t.test(
    `60 stuck statements of clients hold up no handshake and no join, RELAY_THREADS=${threads}`,
    async (t) => {
      const s = await service(t, { RELAY_THREADS: threads, DATABASE_POOL: '4' });
      const [ann, bob] = [await s.person(`ann ${threads}`), await s.person(`bob ${threads}`)];
      const group = await s.talkgroup(`stuck ${threads}`, ann);
      const radios = await Promise.all(Array.from({ length: SOCKETS }, () => ann.radio()));
      const inside = await bob.radio();

      await s.sql.begin(async (sql) => {
        await sql`lock table emergencies in share mode`; // writes wait, reads do not
        for (const radio of radios) {
          for (let ref = 0; ref < CLEARS_AT_ONCE; ref++)
            radio.says({ type: 'EMERGENCY_CLEAR', emergency_id: randomUUID(), ref });
          await radio.settled();
        }
        const late = await bob.radio();
        t.match(late.welcome, { resumed: false }, 'it is let in');
        if (threads === '1') {
          // With one thread for both, REST shares the connections that are stuck.
          await bob.post(`/talkgroups/${group.id}/join`);
          t.match(await inside.hears('TALKGROUP_JOINED'), { talkgroup_id: group.id });
        }
      });
      for (const radio of radios) radio.socket.terminate();
    },
  );
}
