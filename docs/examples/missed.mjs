// Says what a user missed while the radio was not connected, and replays it, with the client library.
//   node docs/examples/missed.mjs URL REST_URL TOKEN [SINCE]
// SINCE: until when the user had live speech the last time, in ISO 8601. An app keeps that time.
import { crc32 } from 'node:zlib';
import { createRadio, createRecordings, createRest, playBack } from 'talkgroup-radio-service/client';

const [url, restUrl, token, since] = process.argv.slice(2);

const radio = createRadio({ url, token });
const recordings = createRecordings({ rest: createRest({ url: restUrl, token }) });

let heardUntil = since === undefined ? null : Date.parse(since); // an app reads it from where it keeps it
let withinMs = 0;

radio.on('waiting', () => {
  heardUntil = radio.heardUntil() ?? heardUntil; // an app keeps it, also when it is closed
  withinMs = 30_000; // all radios of a node lose it together
});

radio.on('open', async ({ server_time: until }) => {
  console.log('connected');
  if (heardUntil === null) return;
  const missed = await recordings.missed(heardUntil, { until, withinMs });
  for (const { talkgroup_id, recordings: count, emergencies } of missed.talkgroups) {
    const name = radio.talkgroups.get(talkgroup_id)?.name ?? 'a talkgroup that the user left';
    console.log(`missed ${count} in ${name}, ${emergencies} in an emergency`);
    await replay({ talkgroupId: talkgroup_id, since: Date.parse(missed.since), until }); // an app waits for the user
  }
});

radio.on('stopped', ({ code, reason }) => {
  console.log(`stopped: ${code} ${reason}`);
  if (code !== 1000) process.exitCode = 1;
});

/** The first 100 of all talkers. An app leaves out those of its own user, and goes on with `next` of the page. */
async function replay({ talkgroupId, since, until }) {
  const page = await recordings.list(talkgroupId, { since, until, order: 'oldest' });
  for (const recording of page.recordings) {
    if (recording.erased_at !== null) continue;
    const { frames, unopened } = await recordings.open(recording);
    let checksum = 0;
    await new Promise((onEnd) => {
      playBack({
        frames,
        onFrame({ payload }) {
          checksum = crc32(payload, checksum);
          // An app gives the payload to a jitter buffer of its own here, and never to that of a live talker.
        },
        onEnd,
      });
    });
    console.log(`${recording.username}: ${frames.length} packets, checksum ${checksum.toString(16)}`);
    for (const [reason, count] of Object.entries(unopened)) console.log(`${count} not opened: ${reason}`);
  }
}
