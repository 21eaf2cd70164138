// Opens the microphone and connects it to the capture worklet.
import { NoMicrophone, noMicrophone } from './microphone-error.js';

export type Input = {
  /** Goes to the worker. */
  readonly port: MessagePort;
  close(): void;
};

// Loudspeakers stand in a control room, so the echo of the other talkers is removed.
const CONSTRAINTS: MediaTrackConstraints = {
  channelCount: 1,
  echoCancellation: true,
  noiseSuppression: true,
  autoGainControl: true,
};

/** Rejects with MicrophoneError. `onLost`: the device was unplugged, or the system ended the track. */
export async function openInput(
  context: AudioContext,
  workletsUrl: string | URL,
  onLost: () => void,
): Promise<Input> {
  // Pages of http have no mediaDevices at all.
  if (!isSecureContext || !navigator.mediaDevices) throw new NoMicrophone('insecure');
  const stream = await navigator.mediaDevices.getUserMedia({ audio: CONSTRAINTS }).catch((error: unknown) => {
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
    node.port.postMessage({ port: port2 }, [port2]);
    // The output is silent. A node that leads nowhere may not be run.
    source.connect(node).connect(source.context.destination);
    for (const track of stream.getTracks()) track.addEventListener('ended', onLost, { once: true });
    return {
      port: port1,
      close() {
        // A track that is stopped has no `ended` event.
        for (const track of stream.getTracks()) track.stop();
        source.disconnect();
        node.disconnect();
        void own?.close();
      },
    };
  } catch (error) {
    for (const track of stream.getTracks()) track.stop();
    throw new NoMicrophone('failed', { cause: error });
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
