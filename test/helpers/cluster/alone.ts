// A link to no other relay, for a shared authority whose talkgroups have all their members here.
import { type FloorLink, NO_TURNS } from '../../../src/relay/shared-floor/link.js';

const sent = () => {
  throw new Error('nothing is sent by a relay that is alone');
};

export const linkAlone: FloorLink = {
  relay: 1,
  view: () => ({ home: 1, relays: [1] }),
  turns: () => NO_TURNS,
  adopt: sent,
  sendPart: sent,
  sendVerdicts: sent,
  want: sent,
  doubt: sent,
  renewed() {},
  busy() {},
};
