// Holds what the cluster counts, as plain numbers.
import type { Reach } from '../../protocol/codes.js';
import type { BusCounts } from './bus.js';

export interface ClusterCounts {
  framesOut: number;
  framesIn: number;
  /** Frames that did not arrive, as the index of a later one shows. */
  framesLost: number;
  /** Frames that were on their way for too long, and are not played. */
  framesLate: number;
  /** Frames of bursts that are not known here. */
  framesUnknown: number;
  /** Messages that cannot be read, or of an unknown kind. */
  unreadable: number;
  /** Messages of relays of another database. */
  otherDatabase: number;
  /** Messages of relays that are not up. */
  strange: number;
  /** Messages that a relay sent over an earlier connection than others that came before. */
  overtaken: number;
  /** Positions of devices that the bus did not take. */
  fixesDropped: number;
  /** Times a burst, or a grant, was held back until an earlier burst ended. */
  held: number;
  /** Times a relay was asked again, because a message of it was missing. */
  asked: number;
  /**
   * Sessions by the way they moved: taken from another relay or given to one, and asked for in vain: this relay did not
   * have it, or the other one did not answer.
   */
  readonly moved: Record<'taken' | 'given' | 'refused' | 'lost', number>;
}

export const newClusterCounts = (): ClusterCounts => ({
  framesOut: 0,
  framesIn: 0,
  framesLost: 0,
  framesLate: 0,
  framesUnknown: 0,
  unreadable: 0,
  otherDatabase: 0,
  strange: 0,
  overtaken: 0,
  fixesDropped: 0,
  held: 0,
  asked: 0,
  moved: { taken: 0, given: 0, refused: 0, lost: 0 },
});

/** What the cluster is now, as plain numbers. */
export interface ClusterFigures {
  readonly bus: BusCounts;
  readonly isUp: boolean;
  /** The bus joins nodes, and not only the threads of one. */
  readonly joinsNodes: boolean;
  /** It runs long enough to have heard of every other relay that can be reached. */
  readonly isSettled: boolean;
  /** Always 1, so that the sum for several threads is their number. */
  readonly relays: number;
  readonly counts: ClusterCounts;
  /** Other relays that can be reached. */
  readonly peers: number;
  /** Those of them that are relay threads of this node. */
  readonly siblings: number;
  /** Those of them that accept none of the keys of this relay. */
  readonly otherKeys: number;
  /** Those of them that do not enforce the encryption of talkgroups, as those of earlier versions. */
  readonly unencrypting: number;
  /** 1 for the reach that radios are sent, 0 for the others. */
  readonly reach: Readonly<Record<Reach, number>>;
  /** Talkgroups with receivers here. */
  readonly talkgroups: number;
  /** Those of them with receivers elsewhere. */
  readonly shared: number;
  /** Those of these in which one talks at a time, by who decides: this relay, or another one. */
  readonly homes: { readonly here: number; readonly elsewhere: number };
  /** Sessions elsewhere, counted in each of these. */
  readonly elsewhere: number;
}
