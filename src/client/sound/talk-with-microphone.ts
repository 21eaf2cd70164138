// Talks with the microphone of a page: opens it with the first talk, encodes, sends, and ends with the key or the device.
import { createEmitter, type Listenable } from '../events.js';
import type { Radio, RadioError, Talk, TalkOptions, TalkOutcome, TalkState } from '../radio.js';
import { createMicrophone } from './microphone.js';
import type { Microphone, MicrophoneError, MicrophoneReason, OpenMicrophone, Sound } from './sound-types.js';

type Source = Pick<Sound, 'microphone' | 'openMicrophone'>;

export type MicrophoneTalkOptions = TalkOptions & { radio: Pick<Radio, 'talk'>; sound: Source };

/** `no_microphone`: there is none, or it went away while the user talked (`lost`). */
export type MicrophoneTalkOutcome =
  | TalkOutcome
  | { kind: 'no_microphone'; reason: MicrophoneReason | 'lost' };

/** `opening`: the user is asked for the microphone, or the codec is loaded. Then the states of a talk follow. */
export type MicrophoneTalkState = { kind: 'opening' } | TalkState | MicrophoneTalkOutcome;

export type MicrophoneTalk = Listenable<{ state: MicrophoneTalkState }> & {
  readonly state: MicrophoneTalkState;
  /** The user released the key. Nothing is recorded after it. */
  end(): void;
  /** Resolves when the talk has ended on the server too. Never rejects. */
  readonly ended: Promise<MicrophoneTalkOutcome>;
};

/**
 * Talks in a talkgroup until `end`, a denial, or the loss of the microphone. The first talk opens the microphone, which asks
 * the user. It stays open for the next ones until `sound.closeMicrophone`. Call it in a user gesture. Open another device
 * than the default one before, with `sound.openMicrophone`.
 */
export function talkWithMicrophone({ radio, sound, ...options }: MicrophoneTalkOptions): MicrophoneTalk {
  const events = createEmitter<{ state: MicrophoneTalkState }>();
  let state: MicrophoneTalkState = { kind: 'opening' };
  let release = () => {};
  let isReleased = false;
  const ended = run().then((outcome) => {
    if (state.kind !== outcome.kind) enter(outcome);
    return outcome;
  });
  return {
    on: events.on,
    get state() {
      return state;
    },
    end() {
      isReleased = true;
      release();
    },
    ended,
  };

  function enter(now: MicrophoneTalkState): void {
    state = now;
    events.emit('state', now);
  }

  async function run(): Promise<MicrophoneTalkOutcome> {
    const capture = captures.get(sound) ?? createCapture(sound);
    captures.set(sound, capture);
    const reason = await capture.open();
    if (reason !== null) return { kind: 'no_microphone', reason };
    if (isReleased) return { kind: 'ended', code: 'unsent' };
    const talk = begin();
    if ('code' in talk) return talk;
    talk.on('state', enter);
    enter(talk.state);
    let isLost = false;
    const leave = capture.take({
      send: talk.send,
      lost() {
        isLost = true;
        release();
      },
    });
    release = () => {
      leave();
      talk.end();
    };
    const outcome = await talk.ended;
    leave();
    return isLost ? { kind: 'no_microphone', reason: 'lost' } : outcome;
  }

  function begin(): Talk | Extract<TalkOutcome, { kind: 'denied' }> {
    try {
      return radio.talk(options);
    } catch (error) {
      const { code } = error as RadioError; // `talk` throws nothing else
      return { kind: 'denied', code: code as 'not_member' };
    }
  }
}

type Taker = { send(packet: Uint8Array): void; lost(): void };

type Capture = {
  /** Resolves with null when the microphone is open and the codec is loaded, otherwise with what is wrong. */
  open(): Promise<MicrophoneReason | 'lost' | null>;
  /** Gives the packets from now on to one more talk, until the returned function is called. */
  take(taker: Taker): () => void;
};

/** A page has one microphone for all talks. */
const captures = new WeakMap<Source, Capture>();

function createCapture(sound: Source): Capture {
  const takers = new Set<Taker>();
  const loading = createMicrophone();
  let encoder: Microphone | null = null;
  let opening: ReturnType<Capture['open']> | null = null;
  let port: OpenMicrophone['port'] | null = null;
  return {
    open() {
      opening ??= open()
        // MicrophoneError. Without a reason: the codec could not be loaded.
        .catch(({ reason = 'failed' }: Partial<MicrophoneError>) => reason)
        .finally(() => {
          opening = null;
        });
      return opening;
    },
    take(taker) {
      takers.add(taker);
      if (takers.size === 1) encoder?.start((packet) => takers.forEach(({ send }) => void send(packet)));
      return () => {
        if (takers.delete(taker) && takers.size === 0) encoder?.stop();
      };
    },
  };

  async function open(): Promise<'lost' | null> {
    // At once, because only a user gesture may start the sound.
    const asked = sound.microphone === null ? sound.openMicrophone() : null;
    [encoder] = await Promise.all([loading, asked]);
    if (sound.microphone === null) return 'lost';
    if (sound.microphone.port === port) return null;
    port = sound.microphone.port;
    encoder.attach(port);
    void sound.microphone.closed.then(() => {
      for (const { lost } of [...takers]) lost();
    });
    return null;
  }
}
