// Writes the next burst of another radio to an Ogg Opus file, with the client library.
//   node docs/examples/record.mjs URL TOKEN FILE.ogg
import { createRadio } from 'talkgroup-radio-service/client';
import { createOpusWriter } from 'talkgroup-radio-service/client/ogg';

const [url, token, path] = process.argv.slice(2);

const file = await createOpusWriter(path);
let written = Promise.resolve();
let recorded = null; // the burst in the file
let packets = 0;

const radio = createRadio({ url, token });
radio.on('open', () => console.log('connected'));

radio.on('talk_started', ({ session, burst }) => {
  if (session !== radio.session) recorded ??= `${session}/${burst}`; // not our own
});

radio.on('audio', ({ session, burst, payload }) => {
  if (`${session}/${burst}` !== recorded || payload.length === 0) return; // the END of a burst may be empty
  packets += 1;
  written = written.then(() => file.write(payload)); // one after the other
});

radio.on('talk_ended', ({ session, burst }) => {
  if (`${session}/${burst}` === recorded) radio.close();
});

radio.on('stopped', async ({ code, reason }) => {
  await written;
  await file.close(); // completes the file
  console.log(`${path}: ${packets} packets`);
  console.log(`stopped: ${code} ${reason}`);
  if (code !== 1000) process.exitCode = 1;
});
