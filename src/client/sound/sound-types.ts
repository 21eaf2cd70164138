// Declares the sound of a page: its own side, and the two sides that may run in a worker.

/** The port of the browser, and in the tests that of Node. */
type MessagePort = InstanceType<typeof globalThis.MessagePort>;

/** The page's side. */
export interface Sound {
  /** In a user gesture: starts the AudioContext and loads the worklets. */
  start(): Promise<void>;
  /** Volume, side and mixer of a talkgroup. The returned port goes to the voices. To a worker it is transferred. */
  add(talkgroupId: string): MessagePort;
  remove(talkgroupId: string): void;
  /** From 0 to 1. */
  setVolume(talkgroupId: string, volume: number): void;
  setMuted(talkgroupId: string, isMuted: boolean): void;
  /** Selected talkgroups play on the left or the first output, the others on the right or the second. `null`: both ears. */
  setSide(talkgroupId: string, side: 'selected' | 'unselected' | null): void;
  /** Local tones, heard whatever is muted. */
  tone(name: 'permit' | 'queued' | 'denied' | 'denied_finally' | 'ending' | 'ended' | 'alarm'): void;
  /**
   * Asks for the microphone once. The port goes to the encoder, `Microphone`. To a worker it is transferred. It carries
   * 960-sample frames while the encoder listens. `deviceId` empty: the default one. It is also taken in place of a device that
   * is missing. Rejects with MicrophoneError.
   */
  openMicrophone(deviceId?: string): Promise<MessagePort>;
  closeMicrophone(): void;
  /** null: it is closed. */
  readonly microphone: OpenMicrophone | null;
  /** The wanted microphone is missing, and the default one is open. */
  readonly isMicrophoneReplaced: boolean;
  /** The peak of each 100 ms of the open microphone, from 0 to 1. */
  onMicrophoneLevel: ((peak: number) => void) | null;
  /** The user hears the open microphone, until it is closed. */
  hearMicrophone(isOn: boolean): void;
  /** The device was unplugged, or the system ended the track. */
  onMicrophoneLost: (() => void) | null;
  /** Outputs, where setSinkId exists. */
  outputs(): Promise<{ id: string; label: string }[]>;
  setOutput(which: 'selected' | 'unselected', id: string): Promise<void>;
  /** Level in dBFS of what a talkgroup plays now: for meters and tests. */
  level(talkgroupId: string): number;
  close(): Promise<void>;
}

/** The microphone from `openMicrophone` until it is closed, or the device goes away. */
export interface OpenMicrophone {
  /** As `openMicrophone` returned it. */
  readonly port: MessagePort;
  readonly closed: Promise<void>;
}

/** A frame as the radio hears it. `sequence` is unwrapped. */
export interface VoiceFrame {
  talkgroupId: string;
  session: number;
  burst: number;
  sequence: number;
  payload: Uint8Array;
}

/** Decodes and buffers what is heard, in the page or in a worker. */
export interface Voices {
  attach(talkgroupId: string, port: MessagePort): void;
  detach(talkgroupId: string): void;
  hear(frame: VoiceFrame, nowMs: number): void;
  /** LAG: what is queued is stale. */
  lagged(talkgroupId: string): void;
  ended(talkgroupId: string, session: number, burst: number): void;
  close(): void;
}

/** Encodes 20 ms Opus packets while started, in the page or in a worker. */
export interface Microphone {
  attach(port: MessagePort): void;
  /** No sound of before the call is ever given. */
  start(onPacket: (packet: Uint8Array) => void): void;
  stop(): void;
  close(): void;
}

/** Why there is no microphone. `insecure`: browsers give one to pages of https and of this computer only. */
export type MicrophoneReason = 'refused' | 'missing' | 'insecure' | 'failed';

/** The rejection of `openMicrophone`. */
export interface MicrophoneError extends Error {
  readonly reason: MicrophoneReason;
}
