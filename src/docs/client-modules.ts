// Lists the modules of src/client. Their type is in modules.ts, which joins them with the others.

export const clientModules = {
  'src/client/audio': {
    purpose: 'Opus packets, Ogg files, and sending a file in real time',
    imports: ['src/client/clock', 'src/client/talking', 'src/protocol'],
  },
  'src/client/clock': {
    purpose: 'monotonic time and timers',
    imports: [],
  },
  'src/client/connection': {
    purpose: 'one connection: reconnect, requests and their answers',
    imports: ['src/client/clock', 'src/protocol'],
  },
  'src/client/emergencies': {
    purpose: 'raises emergencies and keeps the open ones',
    imports: ['src/client/clock', 'src/client/connection', 'src/protocol'],
  },
  'src/client/encryption': {
    purpose: 'keys of encrypted speech: fetches them, seals what is sent, opens what is received',
    imports: ['src/client/clock', 'src/protocol'],
  },
  'src/client/events': {
    purpose: 'typed events',
    imports: [],
  },
  'src/client/hearing': {
    purpose: 'subscriptions, talkgroups and received frames',
    imports: ['src/client/clock', 'src/client/connection', 'src/client/encryption', 'src/protocol'],
  },
  'src/client/node': {
    purpose: 'the entry for Node, with the package `ws`',
    imports: ['src/client/encryption', 'src/client/radio', 'src/protocol'],
  },
  'src/client/radio': {
    purpose: 'the radio client, the entry for browsers',
    imports: [
      'src/client/audio',
      'src/client/clock',
      'src/client/connection',
      'src/client/emergencies',
      'src/client/encryption',
      'src/client/events',
      'src/client/hearing',
      'src/client/recall',
      'src/client/recordings',
      'src/client/talking',
      'src/client/watching',
      'src/protocol',
    ],
  },
  'src/client/recall': {
    purpose: 'replays what this radio played, from its memory',
    imports: ['src/client/clock', 'src/protocol'],
  },
  'src/client/recordings': {
    purpose: 'lists recordings of the service, counts those that a user missed, and opens them',
    imports: ['src/client/audio', 'src/client/clock', 'src/client/encryption', 'src/protocol'],
  },
  'src/client/sound': {
    purpose: 'the entry for sound in browsers: codec, jitter buffer, worklets, microphone, tones',
    imports: ['src/client/audio', 'src/client/events', 'src/client/radio'],
  },
  'src/client/talking': {
    purpose: 'one talk from the floor request to its end',
    imports: [
      'src/client/clock',
      'src/client/connection',
      'src/client/encryption',
      'src/client/events',
      'src/protocol',
    ],
  },
  'src/client/watching': {
    purpose: 'watched devices and their positions',
    imports: ['src/client/clock', 'src/client/connection', 'src/protocol'],
  },
  'src/client/terminal': {
    purpose: 'the radio in a terminal, and the recorder',
    imports: [
      'src/client/audio',
      'src/client/connection',
      'src/client/hearing',
      'src/client/node',
      'src/client/radio',
      'src/protocol',
    ],
  },
} as const;
