// Plays radios that subscribe to audio and read it too slowly.

import { nowMs, until } from '../machine/clock.js';
import type { Disturbance, DisturbanceOptions, End, Slowness } from './disturbance.js';
import { type ConnectionLost, RawRadio, type Said } from './raw-radio.js';
import { joinAll } from './swarm.js';

const SIP_MS = 200;
const ACCOUNT_MS_MAX = 5_000;

/** Resolves when they have joined. */
export async function createSlowRadios(
  { target, users }: DisturbanceOptions,
  slowness: Slowness,
): Promise<Disturbance> {
  const ends: End[] = [];
  let sinceMs = nowMs();
  let heard = 0;
  let missed = 0;
  let lags = 0;
  const receive = () => {
    heard++;
  };
  const told = ({ type, talkgroups }: Said) => {
    if (type !== 'LAG') return;
    lags++;
    for (const talkgroup of talkgroups as { missed: number }[]) missed += talkgroup.missed; // as docs/protocol.md has it
  };
  const lost = ({ code, message }: ConnectionLost) =>
    ends.push({ code, message, told: [], afterMs: nowMs() - sinceMs, framesSent: 0 });
  const readBytes =
    slowness.kind === 'slow' ? Math.floor((slowness.bytesPerSecond * SIP_MS) / 1000) : undefined;
  const radios = await joinAll(
    users,
    (token) =>
      new RawRadio({ target, token, receive, told, lost, ...(readBytes !== undefined && { readBytes }) }),
  );
  const each = (act: (radio: RawRadio) => void) => {
    for (const radio of radios) act(radio);
  };
  let timer: NodeJS.Timeout | undefined;

  function stopAndGo(stopMs: number, readMs: number): void {
    each((radio) => radio.hold());
    timer = setTimeout(() => {
      each((radio) => radio.flow());
      timer = setTimeout(stopAndGo, readMs, stopMs, readMs);
    }, stopMs);
  }

  function end(): void {
    clearTimeout(timer);
    each((radio) => radio.flow());
  }

  return {
    begin() {
      sinceMs = nowMs();
      each((radio) => radio.hold());
      if (slowness.kind === 'stop_and_go') stopAndGo(slowness.stopMs, slowness.readMs);
      if (slowness.kind === 'slow') timer = setInterval(each, SIP_MS, (radio: RawRadio) => radio.sip());
    },
    end,
    async finish(sent) {
      end();
      await until(() => heard + missed >= sent * users.length, ACCOUNT_MS_MAX);
      return { heard, missed, lags, ends };
    },
  };
}
