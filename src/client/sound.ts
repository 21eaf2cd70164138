// Plays and records the sound of a page. The entry of the package for sound.
export { createMicrophone, type MicrophoneOptions } from './sound/microphone.js';
export { createSound, type SoundOptions } from './sound/sound.js';
export type {
  Microphone,
  MicrophoneError,
  MicrophoneReason,
  Sound,
  VoiceFrame,
  Voices,
} from './sound/sound-types.js';
export { createVoices, type VoiceFigures, type VoicesOptions } from './sound/voices.js';
