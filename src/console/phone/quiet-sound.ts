// Plays a sound without any loudness, because browsers give the key of a headset to pages that play sound.

const RATE = 8_000;
/** Chrome gives no key to a sound of less than 5 s. */
const SECONDS = 10;

/** Returns a function that stops it. A browser that wants a gesture first gets it with the next press. */
export function playQuietly(): () => void {
  const url = URL.createObjectURL(new Blob([quietWave()], { type: 'audio/wav' }));
  const element = new Audio(url);
  element.loop = true;
  const play = () => void element.play().catch(() => {}); // NotAllowedError: before a gesture
  play();
  addEventListener('pointerup', play);
  return () => {
    removeEventListener('pointerup', play);
    element.pause();
    URL.revokeObjectURL(url);
  };
}

/** WAV of one channel with 8 bits a sample, of which 128 is the middle. */
function quietWave(): ArrayBuffer {
  const length = RATE * SECONDS;
  const bytes = new Uint8Array(44 + length).fill(128, 44);
  const view = new DataView(bytes.buffer);
  const text = (at: number, letters: string) => bytes.set(new TextEncoder().encode(letters), at);
  const number = (at: number, value: number) => view.setUint32(at, value, true);
  text(0, 'RIFF');
  number(4, 36 + length);
  text(8, 'WAVEfmt ');
  number(16, 16);
  number(20, 0x1_0001); // PCM, one channel
  number(24, RATE);
  number(28, RATE); // bytes a second
  number(32, 0x8_0001); // one byte a sample, 8 bits
  text(36, 'data');
  number(40, length);
  return bytes.buffer;
}
