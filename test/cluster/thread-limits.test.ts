// The limits of one user with sockets on two relay threads.
import t from 'tap';
import { connect, service } from '../helpers/service/service.js';
import { scoutPorts } from '../helpers/service/two-threads.js';
import { testUserLimits } from '../helpers/service/user-limits.js';

testUserLimits(t, 'both threads', async (t, environment) => {
  const s = await service(t, { RELAY_THREADS: '2', RESUME_MS: '0', ...environment });
  // A socket may take the place of another one on its thread, so none may come to a thread by chance.
  const ports = scoutPorts(t, { ws: s.ws, scout: async () => (await s.person('scout')).token });
  return {
    ...s,
    async radioAt(relay, { token }) {
      const { localPort } = await ports.toTurn(relay);
      return connect(t, `${s.ws}/ws?token=${token}`, { localPort });
    },
  };
});
