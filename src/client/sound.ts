// Plays what a radio hears in a browser, and talks with its microphone. The entry of the package for sound.
export { createMicrophone, type MicrophoneOptions } from './sound/microphone.js';
export { type PlayOptions, playRadio } from './sound/play-radio.js';
export { createSound, type SoundOptions } from './sound/sound.js';
export type {
  Microphone,
  MicrophoneError,
  MicrophoneReason,
  OpenMicrophone,
  Sound,
  VoiceFrame,
  Voices,
} from './sound/sound-types.js';
export {
  type MicrophoneTalk,
  type MicrophoneTalkOptions,
  type MicrophoneTalkOutcome,
  type MicrophoneTalkState,
  talkWithMicrophone,
} from './sound/talk-with-microphone.js';
export { createVoices, type VoiceFigures, type VoicesOptions } from './sound/voices.js';
