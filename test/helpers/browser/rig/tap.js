// Runs before the scripts of a page: whatever the page plays, the test hears as well, and opened microphones are known.
{
  const connect = AudioNode.prototype.connect;
  const taps = new Map();
  const streams = [];
  const epochMs = () => performance.timeOrigin + performance.now();

  const tapOf = (context) => {
    const known = taps.get(context);
    if (known) return known;
    // As a loudspeaker plays it: mono on both sides. A splitter alone would have it on the left.
    const stereo = new GainNode(context, { channelCount: 2, channelCountMode: 'explicit' });
    const splitter = context.createChannelSplitter(2);
    connect.call(stereo, splitter);
    const analysers = [0, 1].map((channel) => {
      const analyser = new AnalyserNode(context, { fftSize: 8_192 });
      connect.call(splitter, analyser, channel);
      return analyser;
    });
    const tap = { context, stereo, splitter, analysers };
    taps.set(context, tap);
    return tap;
  };

  AudioNode.prototype.connect = function (to, output = 0, ...more) {
    const result = connect.call(this, to, output, ...more);
    if (to instanceof AudioDestinationNode) connect.call(this, tapOf(to.context).stereo, output);
    return result;
  };

  const { mediaDevices } = navigator;
  if (mediaDevices) {
    const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices);
    mediaDevices.getUserMedia = async (constraints) => {
      const stream = await getUserMedia(constraints);
      streams.push(stream);
      return stream;
    };
  }

  const detect = async (context, source, level) => {
    await context.audioWorklet.addModule('/detector.js');
    const detector = new AudioWorkletNode(context, 'detector', { processorOptions: { level } });
    connect.call(source, detector);
    connect.call(detector, context.destination);
    return detector;
  };

  globalThis.taps = {
    /** The last 170 ms of each context: left and right. */
    heard: () =>
      [...taps.values()].map(({ context, analysers }) => ({
        sinkId: context.sinkId ?? '',
        rate: context.sampleRate,
        channels: analysers.map((analyser) => {
          const samples = new Float32Array(analyser.fftSize);
          analyser.getFloatTimeDomainData(samples);
          return Array.from(samples);
        }),
      })),
    /** The system takes the microphone away, as when it is unplugged. */
    loseMicrophone() {
      for (const stream of streams)
        for (const track of stream.getTracks()) {
          track.stop();
          track.dispatchEvent(new Event('ended'));
        }
    },
    /** As a phone does for a call. Resolves when the context is suspended. */
    suspend: () => Promise.all([...taps.keys()].map((context) => context.suspend())),
    onsets: [],
    /** From now on `onsets` gets the time at which sound begins at the loudspeaker. */
    async listen(level) {
      const [{ context, splitter }] = taps.values();
      const detector = await detect(context, splitter, level);
      detector.port.onmessage = ({ data }) => {
        const { contextTime, performanceTime } = context.getOutputTimestamp();
        taps_.onsets.push(performance.timeOrigin + performanceTime + (data - contextTime) * 1_000);
      };
    },
    /** The same for the microphone that is open: when the page gets its sound. */
    async speak(level) {
      const context = new AudioContext({ sampleRate: 48_000 });
      const detector = await detect(context, context.createMediaStreamSource(streams[0]), level);
      detector.port.onmessage = ({ data }) => {
        taps_.onsets.push(epochMs() - (context.currentTime - data) * 1_000);
      };
    },
  };
  const taps_ = globalThis.taps;
}
