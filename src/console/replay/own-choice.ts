// Holds the replay key for the replays and for the settings.
import { createReplayChoice, type ReplayChoice } from './choice.js';

export const ownChoice: ReplayChoice = createReplayChoice(localStorage);
