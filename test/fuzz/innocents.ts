// Radios that do nothing wrong while others do: one talks in two talkgroups, two listen, and none may miss a frame.
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { END, encodeFrame, type Frame, START } from '../../src/protocol/frame.js';
import type { Person, Scene } from './scene.js';

/** In payloads that no rule lets through: who hears it has found a fault. */
export const NEVER_RELAYED = 'BAD';
/** From here on senders are made up: no session number of a run is as high. */
export const SENDER_FORGED_MIN = 2 ** 31;

/** An Opus packet's. */
const FRAME_MS = 20;
/** Five seconds of talk in a burst. */
const BURST_FRAMES = 250;
const HEARD_MS_MAX = 5000;

/** They talk and listen until `end`, which tells what each of them missed or should not have heard. */
export async function talkOn(url: string, scene: Scene) {
  const [open] = scene.abused;
  const faults = new Set<string>();
  const talker = await join(url, scene.talker, faults);
  const counting = (numbers: readonly number[]) => numbers.map((talkgroup) => ({ talkgroup, heard: 0 }));
  const listeners = [
    {
      name: 'listener',
      ...(await join(url, scene.listener, faults)),
      groups: counting([scene.quiet.number, open.number]),
    },
    { name: 'neighbour', ...(await join(url, scene.neighbour, faults)), groups: counting([open.number]) },
  ];
  let said = 0;

  for (const { name, socket, groups } of listeners)
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (!isBinary) return;
      const frames = decodeFrames(data);
      if (typeof frames === 'string') return void faults.add(`${name} heard what is no frame: ${frames}`);
      for (const frame of frames) hear(name, groups, frame);
    });

  function hear(name: string, groups: { talkgroup: number; heard: number }[], frame: Frame): void {
    const payload = Buffer.from(frame.payload.buffer, frame.payload.byteOffset, frame.payload.byteLength);
    const group = groups.find(({ talkgroup }) => talkgroup === frame.talkgroup);
    if (frame.sender >= SENDER_FORGED_MIN) faults.add(`${name} heard a forged sender`);
    if (payload.subarray(0, NEVER_RELAYED.length).toString() === NEVER_RELAYED)
      faults.add(`${name} heard a frame that no rule lets through: ${payload.toString('latin1')}`);
    if (frame.sender !== talker.session) {
      if (frame.talkgroup === scene.quiet.number) faults.add(`${name} heard a stranger among the innocent`);
      return;
    }
    const count = payload.length === 4 ? payload.readUInt32BE() : -1;
    if (group === undefined || count !== group.heard)
      faults.add(`${name} heard ${payload.toString('hex')} of the talker instead of frame ${group?.heard}`);
    else group.heard++;
  }

  function speak(): void {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(said);
    const flags = said % BURST_FRAMES === 0 ? START : said % BURST_FRAMES === BURST_FRAMES - 1 ? END : 0;
    for (const { number: talkgroup } of [scene.quiet, open])
      talker.socket.send(encodeFrame({ sequence: said % BURST_FRAMES, talkgroup, payload, flags }));
    said++;
  }
  const timer = setInterval(speak, FRAME_MS);

  return {
    async end(): Promise<{ faults: string[]; frames: { said: number; heard: number } }> {
      clearInterval(timer);
      const groups = listeners.flatMap(({ groups }) => groups);
      const untilMs = performance.now() + HEARD_MS_MAX;
      while (groups.some(({ heard }) => heard < said) && performance.now() < untilMs)
        await new Promise((resolve) => setTimeout(resolve, 5));
      for (const { name, groups } of listeners)
        for (const { heard } of groups)
          if (heard !== said) faults.add(`${name} heard ${heard} of ${said} frames`);
      for (const { socket } of [talker, ...listeners]) {
        socket.removeAllListeners('close');
        socket.terminate();
      }
      const heard = groups.reduce((sum, { heard }) => sum + heard, 0);
      return { faults: [...faults], frames: { said: 2 * said, heard } };
    },
  };
}

/** Resolves with WELCOME. Every end, and being called slow, is a fault. */
async function join(url: string, { token, id }: Person, faults: Set<string>) {
  const socket = new WebSocket(`${url}?token=${token}`, { perMessageDeflate: false });
  socket.on('close', (code, reason) => faults.add(`${id}, who is innocent, was closed ${code} ${reason}`));
  socket.on('error', () => {}); // a close follows
  const [welcome] = (await once(socket, 'message')) as [Buffer];
  const { session } = JSON.parse(welcome.toString()) as { session: number };
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (!isBinary && data.includes('"type":"LAG"')) faults.add(`${id}, who is innocent, was called slow`);
  });
  return { socket, session };
}
