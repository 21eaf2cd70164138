// Creates a talkgroup with two members by REST and prints what the radios need as shell variables.
//   eval "$(ADMIN_PASSWORD=... node docs/examples/set-up.mjs http://127.0.0.1:3000)"
import { randomUUID } from 'node:crypto';

const [api] = process.argv.slice(2);
const { ADMIN_USERNAME = 'admin', ADMIN_PASSWORD } = process.env;

/** One REST call. The body of its answer, or an error with the code and the text that the service gives. */
async function post(path, body, jwt) {
  const response = await fetch(api + path, {
    method: 'POST',
    headers: {
      ...(jwt && { authorization: `Bearer ${jwt}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`POST ${path}: ${response.headers.get('Error-Code')}, ${answer.error}`);
  return answer;
}

const admin = await post('/auth/login', { username: ADMIN_USERNAME, password: ADMIN_PASSWORD });
const { talkgroup } = await post('/talkgroups', { name: 'Guide' }, admin.jwt);
console.log(`GROUP=${talkgroup.id}`);
for (const name of ['talker', 'listener']) {
  const username = `${name}-${randomUUID().slice(0, 4)}`; // names are unique on a server
  const { jwt } = await post('/auth/register', { username, password: randomUUID() });
  await post(`/talkgroups/${talkgroup.id}/join`, undefined, jwt);
  console.log(`${name.toUpperCase()}=${jwt}`);
}
