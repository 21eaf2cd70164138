// Plays what a radio hears: each talkgroup on a line of the sound, each burst with a voice.
import { isOpus } from '../audio/opus.js';
import type { Radio } from '../radio.js';
import type { Sound, Voices } from './sound-types.js';
import { createVoices, type VoicesOptions } from './voices.js';

type Heard = Pick<Radio, 'on' | 'talkgroups'>;

export type PlayOptions = Pick<VoicesOptions, 'targetMs'> & {
  radio: Heard & Pick<Radio, 'state'>;
  sound: Pick<Sound, 'start' | 'add' | 'remove'>;
};

/**
 * Plays all talkgroups of the radio, also those that it gets later, until the radio stops or `stop` is called. Starts the
 * sound. Resolves when the codec is loaded: what is heard before is not played. Rejects when the worklets or the codec cannot
 * be loaded.
 */
export async function playRadio({ radio, sound, ...options }: PlayOptions): Promise<{ stop(): void }> {
  const [voices] = await Promise.all([createVoices(options), sound.start()]);
  const played = new Set<string>();
  const ends = [
    giveHeard(radio, () => voices),
    radio.on('talkgroups', follow),
    radio.on('stopped', () => stop()),
  ];
  if (radio.state === 'stopped') stop();
  else follow();
  return { stop };

  function follow(): void {
    for (const id of played) if (!radio.talkgroups.has(id)) drop(id);
    for (const id of radio.talkgroups.keys()) {
      if (played.has(id)) continue;
      played.add(id);
      voices.attach(id, sound.add(id));
    }
  }

  function drop(talkgroupId: string): void {
    played.delete(talkgroupId);
    voices.detach(talkgroupId);
    sound.remove(talkgroupId);
  }

  function stop(): void {
    for (const end of ends.splice(0)) end();
    for (const id of played) drop(id);
  }
}

/** Gives the voices what the radio hears. `voices` returns null while there are none. Returns a function that ends this. */
export function giveHeard(radio: Heard, voices: () => Voices | null): () => void {
  const ends = [
    radio.on('audio', (frame) => {
      // What is encrypted comes opened, or does not come.
      const talker = radio.talkgroups.get(frame.talkgroupId)?.talkers.get(frame.session);
      if (frame.payload.length > 0 && isOpus(talker?.codec)) voices()?.hear(frame, frame.receivedAtMs);
    }),
    radio.on('lag', ({ talkgroupId }) => voices()?.lagged(talkgroupId)),
    radio.on('talk_ended', ({ talkgroup_id, session, burst }) =>
      voices()?.ended(talkgroup_id, session, burst),
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}
