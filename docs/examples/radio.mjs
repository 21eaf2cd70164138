// A radio in Node with the client library: listens to its talkgroups, talks into one of them, or watches where its members are.
//   node docs/examples/radio.mjs listen URL TOKEN [BURSTS]
//   node docs/examples/radio.mjs talk URL TOKEN TALKGROUP_ID FILE.ogg
//   node docs/examples/radio.mjs watch URL TOKEN TALKGROUP_ID
import { crc32 } from 'node:zlib';
import { createRadio, speak } from 'talkgroup-radio-service/client';
import { readOpus } from 'talkgroup-radio-service/client/ogg';

const [command, url, token, ...rest] = process.argv.slice(2);

const radio = createRadio({ url, token });
radio.on('open', ({ resumed }) => console.log(resumed ? 'resumed' : 'connected'));
radio.on('waiting', ({ code, reason, delayMs }) => {
  console.log(`connection lost: ${code} ${reason}, next attempt in ${Math.round(delayMs)} ms`);
});
radio.on('stopped', ({ code, reason }) => {
  console.log(`stopped: ${code} ${reason}`);
  if (code !== 1000) process.exitCode = 1;
});

if (command === 'listen') listen(Number(rest[0] ?? Number.POSITIVE_INFINITY));
else if (command === 'watch') void watch(rest[0]);
else void talk(rest[0], rest[1]);

/** Reports each burst of another radio, and closes after so many. */
function listen(burstsLeft) {
  const running = new Map(); // by session and burst number

  radio.on('talk_started', ({ talkgroup_id, session, burst, username }) => {
    if (session === radio.session) return; // our own
    running.set(`${session}/${burst}`, { packets: 0, checksum: 0 });
    console.log(`${username} talks in ${radio.talkgroups.get(talkgroup_id).name}`);
  });

  radio.on('audio', ({ session, burst, payload }) => {
    const heard = running.get(`${session}/${burst}`);
    if (!heard || payload.length === 0) return; // the END of a burst may be empty
    heard.packets += 1;
    heard.checksum = crc32(payload, heard.checksum);
    // An app gives the payload to the jitter buffer of this talker here.
  });

  radio.on('lag', ({ missed }) => {
    console.log(`${missed} packets missed`);
    // An app drops all audio of this talkgroup that it has not played yet.
  });

  radio.on('talk_ended', ({ session, burst, code }) => {
    const heard = running.get(`${session}/${burst}`);
    if (!heard) return;
    running.delete(`${session}/${burst}`);
    console.log(`heard ${heard.packets} packets, checksum ${heard.checksum.toString(16)}: ${code}`);
    burstsLeft -= 1;
    if (burstsLeft === 0) radio.close();
  });
}

/** Sends the packets of an Ogg Opus file as a microphone would deliver them. */
async function talk(talkgroupId, file) {
  const { packets, packetMs } = await readOpus(file);
  await radio.opened.catch(() => process.exit()); // `stopped` has said why

  const talk = radio.talk({ talkgroupId });
  talk.on('state', ({ kind }) => kind === 'talking' && console.log('talking'));
  await speak({ talk, packets, packetMs }); // an app calls talk.send(packet) for each packet of its encoder

  const { kind, code } = await talk.ended;
  const checksum = packets.reduce((sum, packet) => crc32(packet, sum), 0);
  console.log(`sent ${packets.length} packets, checksum ${checksum.toString(16)}: ${code}`);
  if (kind !== 'ended') process.exitCode = 1;
  radio.close();
}

/** Reports each device that moves, until it is stopped. */
async function watch(talkgroupId) {
  await radio.opened.catch(() => process.exit()); // `stopped` has said why

  radio.on('positions', ({ moved, gone }) => {
    for (const { name, username, lat, lng } of moved)
      console.log(`${name} of ${username} is at ${lat} ${lng}`);
    for (const deviceId of gone) console.log(`${deviceId} is not watched any more`);
  });
  await radio.watch({ talkgroupIds: [talkgroupId], intervalMs: 2000 });
}
