// Holds the texts of the list of keys.
const talkKey = 'Hold the talk key';
const replayKey = 'Replay key';

export const keyList = {
  /** The names of these keys are added. */
  ...{ talkKey, replayKey },
  title: 'Keys',
  key: 'Key',
  effect: 'Effect',
  keys: [
    [talkKey, 'Talk to the selected talkgroups'],
    ['Hold Shift and the talk key', 'Answer the last talker'],
    ['Enter', 'Press. On a talk button, hold it to talk'],
    ['Tab', 'Next control'],
    ['Arrows', 'Next talkgroup, tab or item'],
    ['F6, Shift F6', 'Next region, previous region'],
    ['/', 'Find a talkgroup or user'],
    ['?', 'This list'],
    ['Escape', 'Close, leave a field, or stop a replay'],
    [replayKey, 'Replay the last call, in a tile that of its talkgroup'],
    ['Shift and the replay key', 'Replay the call before'],
    ['S', 'Select the talkgroup with the focus'],
    ['M', 'Mute it'],
    ['F', 'Make it a favourite'],
    ['1 to 9', 'Select the favourite of that number'],
    ['A', 'First alarm that is not acknowledged'],
  ],
  off: 'Letters, digits and signs do nothing. You can switch them on in Settings.',
} as const;
