// A link to no other relay, for a shared authority whose talkgroups have all their members here.
import { NO_TURN } from '../../../src/protocol/turn.js';
import type { FloorLink, Turns } from '../../../src/relay/shared-floor/link.js';

const nothingPlays: Turns = {
  ...{ top: NO_TURN, seen: NO_TURN, played: null },
  isPast: () => false,
  grant: () => 'ready',
  withdraw() {},
  interrupt() {},
};

const sent = () => {
  throw new Error('nothing is sent by a relay that is alone');
};

export const linkAlone: FloorLink = {
  relay: 1,
  view: () => ({ home: 1, relays: [1] }),
  turns: () => nothingPlays,
  settings: ({ floorMode, maxTalkMs }) => ({
    ...{ revision: 1, mode: floorMode, maxTalkMs, encryption: 'allowed', mayBeClear: true },
  }),
  adopt: sent,
  sendPart: sent,
  sendVerdicts: sent,
  want: sent,
  doubt: sent,
  renewed() {},
};
