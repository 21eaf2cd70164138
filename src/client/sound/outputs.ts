// Chooses the outputs, in browsers that can play one page on two of them.

/** `setSinkId` of AudioContext, which the types of browsers do not declare. Chrome and Edge have it. */
type WithSink = AudioContext & { setSinkId(id: string): Promise<void>; readonly sinkId: string };

export function canChoose(context: AudioContext): context is WithSink {
  return 'setSinkId' in context;
}

/** Empty where the browser cannot choose. Labels are empty before the microphone was allowed. */
export async function listOutputs(): Promise<{ id: string; label: string }[]> {
  if (!('setSinkId' in AudioContext.prototype) || !navigator.mediaDevices) return [];
  const devices = await navigator.mediaDevices.enumerateDevices();
  return devices
    .filter(({ kind }) => kind === 'audiooutput')
    .map(({ deviceId, label }) => ({ id: deviceId, label }));
}

export type SecondOutput = { readonly context: AudioContext; close(): void };

/** Plays output 1 of the player in a context of its own, on another device. */
export async function openSecond(
  first: AudioContext,
  player: AudioWorkletNode,
  id: string,
): Promise<SecondOutput> {
  const bridge = new MediaStreamAudioDestinationNode(first, { channelCount: 2 });
  const context = new AudioContext({ sampleRate: first.sampleRate, latencyHint: 'interactive' });
  const close = () => {
    player.disconnect(bridge);
    void context.close();
  };
  player.connect(bridge, 1);
  try {
    if (canChoose(context)) await context.setSinkId(id);
    void context.resume();
    context.createMediaStreamSource(bridge.stream).connect(context.destination);
    return { context, close };
  } catch (error) {
    close();
    throw error;
  }
}
