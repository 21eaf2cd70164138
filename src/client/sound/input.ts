// Opens the microphone and connects it to the capture worklet.
import { NoMicrophone, noMicrophone } from './microphone-error.js';
import type { OpenMicrophone } from './sound-types.js';

export type Input = OpenMicrophone & {
  /** The wanted device is missing, and this is the default one. */
  readonly isReplaced: boolean;
  /** The user hears the microphone on the output of the page. */
  hear(isOn: boolean): void;
  close(): void;
};

// Loudspeakers stand in a control room, so the echo of the other talkers is removed.
const CONSTRAINTS: MediaTrackConstraints = {
  channelCount: 1,
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
};

export type InputOwner = {
  /** The device was unplugged, or the system ended the track. */
  lost(): void;
  /** The peak of each 100 ms, from 0 to 1. */
  level(peak: number): void;
};

/** `deviceId` empty: the default one. Rejects with MicrophoneError. */
export async function openInput(
  context: AudioContext,
  workletsUrl: string | URL,
  deviceId: string,
  owner: InputOwner,
): Promise<Input> {
  // Pages of http have no mediaDevices at all.
  if (!isSecureContext || !navigator.mediaDevices) throw new NoMicrophone('insecure');
  const { stream, isReplaced } = await streamOf(deviceId).catch((error: unknown) => {
    throw noMicrophone(error);
  });
  try {
    const { source, own } = await sourceOf(context, stream, workletsUrl);
    const node = new AudioWorkletNode(source.context, 'talkgroup-capture', {
      outputChannelCount: [1],
      channelCount: 1,
      channelCountMode: 'explicit',
    });
    const { port1, port2 } = new MessageChannel();
    let isHeard = false;
    let tellClosed = () => {};
    node.port.postMessage({ port: port2 }, [port2]);
    node.port.onmessage = ({ data }: MessageEvent<number>) => owner.level(data);
    // The output is silent. A node that leads nowhere may not be run.
    source.connect(node).connect(source.context.destination);
    for (const track of stream.getTracks()) track.addEventListener('ended', owner.lost, { once: true });
    return {
      port: port1,
      closed: new Promise<void>((resolve) => {
        tellClosed = resolve;
      }),
      isReplaced,
      hear(isOn) {
        // Without an argument it would also disconnect the worklet.
        if (isOn) source.connect(source.context.destination);
        else if (isHeard) source.disconnect(source.context.destination);
        isHeard = isOn;
      },
      close() {
        // A track that is stopped has no `ended` event.
        for (const track of stream.getTracks()) track.stop();
        source.disconnect();
        node.disconnect();
        void own?.close();
        tellClosed();
      },
    };
  } catch (error) {
    for (const track of stream.getTracks()) track.stop();
    throw new NoMicrophone('failed', { cause: error });
  }
}

/** The default device in place of one that is missing. */
async function streamOf(deviceId: string): Promise<{ stream: MediaStream; isReplaced: boolean }> {
  const open = (audio: MediaTrackConstraints) => navigator.mediaDevices.getUserMedia({ audio });
  if (deviceId === '') return { stream: await open(CONSTRAINTS), isReplaced: false };
  try {
    const stream = await open({ ...CONSTRAINTS, deviceId: { exact: deviceId } });
    return { stream, isReplaced: false };
  } catch (error) {
    const isMissing = error instanceof Error && /^(Overconstrained|NotFound)Error$/.test(error.name);
    if (!isMissing) throw error;
    return { stream: await open(CONSTRAINTS), isReplaced: true };
  }
}

/** Firefox connects a microphone only to a context of the same rate. It gets one of its own, and the worker resamples. */
async function sourceOf(
  context: AudioContext,
  stream: MediaStream,
  workletsUrl: string | URL,
): Promise<{ source: MediaStreamAudioSourceNode; own: AudioContext | null }> {
  try {
    return { source: context.createMediaStreamSource(stream), own: null };
  } catch {
    const own = new AudioContext();
    await own.audioWorklet.addModule(workletsUrl);
    return { source: own.createMediaStreamSource(stream), own };
  }
}
