// Joins the relay to the other relays: what this relay tells them of its sessions, and which members it shows of all relays.
import { type Cluster, type ClusterOptions, createCluster } from '../cluster/cluster.js';
import type { Emergencies } from '../emergencies/emergencies.js';
import type { FloorControl } from '../floor/control.js';
import type { LiveSession, Membership, Talkgroup, User } from '../members/members.js';
import type { MembersPage } from '../presence/messages.js';
import type { RightsChanges } from '../rights/settle.js';

type OfCluster = Omit<
  ClusterOptions,
  'relay' | 'database' | 'bus' | 'node' | 'keys' | 'lastSeq' | 'emergencies' | 'sessions' | 'floor'
>;

export interface SharingOptions extends OfCluster {
  /** What shared floors decide with. */
  readonly shared: ClusterOptions['floor'];
  /** Those of this relay, which are made after this. */
  readonly floor: () => FloorControl;
  readonly emergencies: () => Emergencies;
  readonly movable: () => ClusterOptions['sessions'];
}

/** What joins a relay to others: its id, which no other relay of the database ever has, that database, and the bus. */
export interface Joining extends Pick<ClusterOptions, 'relay' | 'database' | 'bus' | 'node' | 'keys'> {
  /** The numbers of its messages about talkgroups follow this one. Left out: 0. */
  readonly lastSeq?: number;
}

export type Sharing = ReturnType<typeof createSharing>;

/** Until `join`, and without it for ever, the relay is alone: one comparison for each session that comes or goes. */
export function createSharing(options: SharingOptions) {
  const { shared, floor, emergencies, movable, ...services } = options;
  const { presence } = services;
  let cluster: Cluster | null = null;

  return {
    /** From now on talkgroups are shared with the other relays. Before the first session. */
    join({ lastSeq = 0, ...joining }: Joining): void {
      cluster = createCluster({
        ...{ ...services, ...joining, lastSeq, floor: shared },
        emergencies: emergencies().elsewhere,
        sessions: movable(),
      });
      floor().decideWith(cluster.floors);
    },

    /** Id of this relay. null: it is alone. */
    relay: () => cluster?.relay ?? null,

    /** null: the relay is alone. */
    cluster: () => cluster,

    /** Presence, of which the other relays hear, too. */
    presence: {
      watch(talkgroup: Talkgroup): void {
        presence.watch(talkgroup);
        cluster?.roster.watching(talkgroup);
      },
      /** Called once a second. */
      announce: () => presence.announce(cluster?.roster ?? null),
      came(session: LiveSession, membership: Membership): void {
        presence.came(session, membership);
        cluster?.came(membership.talkgroup);
      },
      went(session: LiveSession, membership: Membership): void {
        presence.went(session, membership);
        cluster?.went(membership.talkgroup);
      },
    },

    /** A session of the user is about to come. Resolves when the other relays have said what they have. null: at once. */
    ready: ({ memberships }: User): Promise<void> | null =>
      cluster?.expect([...memberships.values()].map(({ talkgroup }) => talkgroup)) ?? null,

    /** A session went to another relay. Before that relay has it the others are told, so that it counts once. */
    movedOn(talkgroup: Talkgroup): void {
      if (cluster === null) return;
      presence.tellNow(talkgroup, cluster.roster);
      cluster.streamOf(talkgroup)?.tellCount();
    },

    /** A page of the members of all relays. At once when no other relay has any. */
    membersPage: (talkgroup: Talkgroup, after: number, limit: number): MembersPage | Promise<MembersPage> =>
      cluster?.membersPage(talkgroup, after, limit) ?? presence.page(talkgroup, after, limit),

    /** Changes of talkgroups, of which the other relays hear, too. */
    following(effects: RightsChanges): RightsChanges {
      return {
        ...effects,
        changed(talkgroup) {
          cluster?.streamOf(talkgroup)?.tellSettings();
          effects.changed(talkgroup);
          cluster?.streamOf(talkgroup)?.changed();
        },
        deleted(talkgroup) {
          cluster?.streamOf(talkgroup)?.deleted();
          effects.deleted(talkgroup);
        },
      };
    },

    close: async () => cluster?.close(),
  };
}
