// Finds where sound begins after 100 ms of silence, in the time of its context.
const QUIET_S = 0.1;

registerProcessor(
  'detector',
  class extends AudioWorkletProcessor {
    #level;
    #loudAt = Number.NEGATIVE_INFINITY;

    constructor({ processorOptions }) {
      super();
      this.#level = processorOptions.level;
    }

    process([input]) {
      const samples = input[0];
      if (!samples) return true;
      for (let i = 0; i < samples.length; i++) {
        if (Math.abs(samples[i]) < this.#level) continue;
        const at = currentTime + i / sampleRate;
        if (at - this.#loudAt > QUIET_S) this.port.postMessage(at);
        this.#loudAt = at;
      }
      return true;
    }
  },
);
