// Runs a radio in a terminal: sends a file into a talkgroup, or writes received audio to a file. For Node only.

import { PAYLOAD_BYTES_MAX } from '../../protocol/frame.js';
import { SEAL_BYTES_MAX } from '../../protocol/sframe.js';
import { createOpusWriter, readOpus } from '../audio/ogg.js';
import { isOpus } from '../audio/opus.js';
import { speak } from '../audio/speak.js';
import type { Radio, TalkOutcome } from '../node.js';
import { findTalkgroup, isNamed, openRadio, seconds, type TerminalOptions, until } from './opening.js';
import { createRecorder, type Recorded } from './recorder.js';

/**
 * Sends an Ogg Opus file at the speed of live speech. Resolves with the outcome of the talk, `released` if all went well.
 * With `queue` it waits for the floor. With `encrypt` it encrypts the packets. It begins after the relay has sent all
 * talkgroups. Rejects if the file cannot be sent, the relay rejects the token, or the user is not a member of the
 * talkgroup.
 */
export async function talkFile(
  options: TerminalOptions & {
    talkgroup: string;
    file: string;
    priority?: number;
    queue?: boolean;
    encrypt?: boolean;
  },
): Promise<TalkOutcome> {
  const { report = () => {}, signal, priority, queue = false, encrypt = false } = options;
  const { packets, packetMs } = await readOpus(options.file);
  const packetBytesMax = PAYLOAD_BYTES_MAX - (options.keys ? SEAL_BYTES_MAX : 0);
  if (packets.some((packet) => packet.length > packetBytesMax)) {
    throw new Error(`the packets of the file must have at most ${packetBytesMax} bytes`);
  }
  const radio = openRadio(options);
  try {
    await until(radio, { event: 'complete', signal });
    if (signal?.aborted) return { kind: 'ended', code: 'unsent' };
    const { talkgroup_id, name } = findTalkgroup(radio, options.talkgroup);
    const talk = radio.talk({
      talkgroupId: talkgroup_id,
      // With keys the recording begins after the grant, so that none of it is lost while a key is fetched.
      floor: queue ? 'queue' : options.keys ? 'request' : 'first_frame',
      encrypt,
      ...(priority !== undefined && { priority }),
    });
    let isTold = false;
    talk.on('state', (state) => {
      if (state.kind === 'requested' && state.retry_ms !== undefined && !isTold) {
        isTold = true;
        report(`the server cannot decide who has the floor in ${name}, asking again`);
      }
      if (state.kind === 'queued') report(`queued in ${name}: ${state.position} of ${state.size}`);
      if (state.kind === 'talking') report(`talking in ${name} for ${seconds(packets.length * packetMs)}`);
    });
    await speak({ talk, packets, packetMs, signal });
    const outcome = await talk.ended;
    report(describe(outcome, { packets: packets.length, hasKeys: options.keys !== undefined }));
    return outcome;
  } finally {
    radio.close();
  }
}

/**
 * Writes every received burst to an Ogg Opus file until `bursts` of them have ended or `signal` aborts. Records all
 * talkgroups, or one by name or id. Rejects if the relay rejects the token or the file cannot be written. It closes the
 * file in every case.
 */
export async function listenToFile(
  options: TerminalOptions & { out: string; talkgroup?: string; bursts?: number },
): Promise<Recorded> {
  const { talkgroup, report = () => {}, bursts = Number.POSITIVE_INFINITY } = options;
  const enough = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, enough.signal]) : enough.signal;

  const writer = await createOpusWriter(options.out);
  const radio = openRadio(options);
  const wants = (talkgroupId: string) =>
    talkgroup === undefined || isNamed(radio.talkgroups.get(talkgroupId), talkgroup);
  reportHeard(radio, wants, report);
  const recorder = createRecorder({
    ...{ radio, writer, wants },
    onBurst() {
      if (recorder.recorded.bursts >= bursts) enough.abort();
    },
    onFailure: () => enough.abort(),
  });
  try {
    await until(radio, { event: 'complete', signal });
    if (talkgroup !== undefined && !signal.aborted) findTalkgroup(radio, talkgroup);
    report(`listening to ${talkgroup ?? `${radio.talkgroups.size} talkgroups`}`);
    reportLocks(radio, options.keys !== undefined, wants, report);
    await until(radio, { signal });
  } finally {
    radio.close();
    await recorder.close();
  }
  return recorder.recorded;
}

function reportHeard(
  radio: Radio,
  wants: (talkgroupId: string) => boolean,
  report: (line: string) => void,
): void {
  const nameOf = (talkgroupId: string) => radio.talkgroups.get(talkgroupId)?.name ?? talkgroupId;
  radio.on('talk_started', ({ talkgroup_id, username, codec }) => {
    const inWhat = isOpus(codec) ? '' : `, left out: ${codec?.name} is not Opus`;
    if (wants(talkgroup_id)) report(`${username} talks in ${nameOf(talkgroup_id)}${inWhat}`);
  });
  radio.on('talk_ended', ({ talkgroup_id, code, duration_ms = 0 }) => {
    if (wants(talkgroup_id)) report(`heard ${seconds(duration_ms)} in ${nameOf(talkgroup_id)}: ${code}`);
  });
  radio.on('lag', ({ talkgroupId, missed }) => {
    if (wants(talkgroupId)) report(`connection too slow: ${missed} packets missed in ${nameOf(talkgroupId)}`);
  });
  radio.on('missed', ({ talkgroupId, missed }) => {
    if (wants(talkgroupId)) report(`lost between nodes: ${missed} packets in ${nameOf(talkgroupId)}`);
  });
  radio.on('lock', ({ talkgroupId, session, kind, isUnexpected }) => {
    const talker = radio.talkgroups.get(talkgroupId)?.talkers.get(session);
    if (!wants(talkgroupId) || !talker) return;
    if (isUnexpected) report(`CLEAR: ${talker.username} is not encrypted in ${nameOf(talkgroupId)}`);
    if (kind === 'cannot_open') report(`cannot open what ${talker.username} says in ${nameOf(talkgroupId)}`);
  });
  radio.on('unopened', ({ talkgroupId, reason }) => {
    if (wants(talkgroupId) && reason === 'keys_behind') report(`nothing heard: ${mustBeRenewed}`);
  });
  radio.on('emergency', ({ talkgroup_id, username, state, lat, lng }) => {
    const where = lat === undefined || lng === undefined ? '' : ` at ${lat}, ${lng}`;
    if (wants(talkgroup_id)) report(`EMERGENCY of ${username} in ${nameOf(talkgroup_id)}: ${state}${where}`);
  });
}

function describe(outcome: TalkOutcome, { packets, hasKeys }: { packets: number; hasKeys: boolean }): string {
  if (outcome.kind !== 'denied')
    return `${outcome.code}: ${outcome.frames ?? 0} of ${packets} packets relayed`;
  if (outcome.code === 'no_key' && hasKeys) return `not sent: the service gave no key. ${mustBeAccepted}`;
  if (outcome.code === 'no_key' || outcome.code === 'encryption_required')
    return 'not sent: speech must be encrypted here. Add --holder and --rest';
  if (outcome.code === 'keys_behind') return `not sent: ${mustBeRenewed}`;
  if (outcome.code === 'keys_forbidden')
    return 'not sent: you may not have the keys of this talkgroup. Ask an administrator to permit it';
  if (outcome.code === 'encryption_off') return 'not sent: encryption is off here. Leave out --encrypt';
  if (outcome.code === 'retry_later') return 'floor denied: the server could not decide in time. Try again';
  return `floor denied: ${outcome.code}${outcome.talker ? `, ${outcome.talker.username} talks` : ''}`;
}

const mustBeRenewed =
  'the service has only keys from before those that this radio has used. The operator must renew the master secret with --restored';
const mustBeAccepted = 'Another device of the account, or an administrator, must accept this key holder';

/** Why the listener hears nothing, or not all, in a talkgroup. */
function reportLocks(
  radio: Radio,
  hasKeys: boolean,
  wants: (talkgroupId: string) => boolean,
  report: (line: string) => void,
): void {
  for (const { talkgroup_id, name, encryption, may_have_keys } of radio.talkgroups.values()) {
    if (encryption !== 'required' || !wants(talkgroup_id)) continue;
    if (may_have_keys === false)
      report(
        `you may not have the keys of ${name}, and hear nothing there. Ask an administrator to permit it`,
      );
    else if (!hasKeys) report(`speech in ${name} is encrypted. Add --holder and --rest to hear it`);
  }
}
