// Declares the metrics of several relays: the bus between them, and what is lost there. Absent where a node has one relay
// and no NATS_URL.
import type { ClusterFigures } from '../relay/relay-side.js';
import { by, counter, type Family, gauge, histogram, type Numbers } from './family.js';

/** Shows nothing when the relay has no bus. */
const shared =
  (read: (cluster: ClusterFigures) => ReturnType<Numbers>): Numbers =>
  ({ relay }) =>
    relay?.cluster ? read(relay.cluster) : null;

/** The same without NATS_URL, which only joins the threads of this node. */
const joined = (read: (cluster: ClusterFigures) => number): Numbers =>
  shared((cluster) => (cluster.joinsNodes ? read(cluster) : null));

export const clusterFamilies: readonly Family[] = [
  gauge(
    'talkgroup_bus_up',
    '1 while the node is connected to a NATS server',
    joined(({ isUp }) => Number(isUp)),
  ),
  counter(
    'talkgroup_bus_connections_total',
    'Times the node connected to a NATS server',
    joined(({ bus }) => bus.ups),
  ),
  counter(
    'talkgroup_bus_messages_total',
    'Messages to and from other relays. One that leaves over NATS and to a relay thread of this node counts twice',
    shared(({ bus }) => by('direction', { out: bus.messagesOut, in: bus.messagesIn })),
    ['direction'],
  ),
  counter(
    'talkgroup_bus_bytes_total',
    'Bytes of these messages',
    shared(({ bus }) => by('direction', { out: bus.bytesOut, in: bus.bytesIn })),
    ['direction'],
  ),
  counter(
    'talkgroup_bus_dropped_total',
    'Messages to other relays that were not sent: not connected, too much to send, or rejected by the connection',
    shared(({ bus }) => by('reason', bus.dropped)),
    ['reason'],
  ),
  counter(
    'talkgroup_bus_frames_total',
    'Audio frames to and from other relays',
    shared(({ counts }) => by('direction', { out: counts.framesOut, in: counts.framesIn })),
    ['direction'],
  ),
  counter(
    'talkgroup_bus_frames_missed_total',
    'Audio frames of other relays that no receiver here got: lost, more than 500 ms late, or of an unknown burst',
    shared(({ counts }) =>
      by('reason', { lost: counts.framesLost, late: counts.framesLate, unknown: counts.framesUnknown }),
    ),
    ['reason'],
  ),
  counter(
    'talkgroup_bus_ignored_total',
    'Messages of other relays that were ignored: not readable, of a relay of another database, of a relay that does not hear this one, or overtaken by newer ones',
    shared(({ counts: { unreadable, otherDatabase, strange, overtaken } }) =>
      by('reason', { unreadable, other_database: otherDatabase, not_reached: strange, overtaken }),
    ),
    ['reason'],
  ),
  histogram('talkgroup_bus_delay_seconds', 'Time that messages of other relays took, sampled', ({ relay }) =>
    relay?.cluster ? [[{}, relay.cluster.delay]] : [],
  ),
  gauge(
    'talkgroup_cluster_relays',
    'Relays of this node that are connected with those of other nodes: 1, or the relay threads',
    joined(({ relays }) => relays),
  ),
  gauge(
    'talkgroup_cluster_peers',
    'Other relays that can be reached',
    shared(({ peers }) => peers),
  ),
  gauge(
    'talkgroup_cluster_other_keys',
    'Those of them that accept none of the keys of this relay: another JWT_SECRET',
    shared(({ otherKeys }) => otherKeys),
  ),
  gauge(
    'talkgroup_cluster_unencrypting',
    'Those of them that do not enforce the encryption of talkgroups',
    shared(({ unencrypting }) => unencrypting),
  ),
  gauge(
    'talkgroup_cluster_unrecording',
    'Those of them that record nothing',
    shared(({ unrecording }) => unrecording),
  ),
  gauge(
    'talkgroup_cluster_reach',
    '1 for the reach that radios are sent (REACH), else 0. A lost node is missing for 60 s',
    shared(({ reach }) => by('state', reach)),
    ['state'],
  ),
  gauge(
    'talkgroup_cluster_talkgroups',
    'Talkgroups with receivers here and at other relays',
    shared(({ shared }) => shared),
  ),
  counter(
    'talkgroup_cluster_sessions_moved_total',
    'Sessions fetched from other relays and given to them, requests for a session that is not here, requests without an answer',
    shared(({ counts }) => by('way', counts.moved)),
    ['way'],
  ),
  gauge(
    'talkgroup_cluster_sessions',
    'Sessions at other relays, counted in each talkgroup with receivers here',
    shared(({ elsewhere }) => elsewhere),
  ),
  gauge(
    'talkgroup_floor_homes',
    'Talkgroups in `single` and `broadcast` with receivers here and at other relays, by the relay that decides their floor',
    shared(({ homes }) => by('where', homes)),
    ['where'],
  ),
  counter(
    'talkgroup_floor_unanswered_total',
    'Requests for the floor that no relay answered in time',
    shared(({ floors }) => floors.unanswered),
  ),
  counter(
    'talkgroup_floor_collisions_total',
    'Grants and bursts that ended because two sessions had the floor, as after a split of the network',
    shared(({ floors }) => floors.collisions),
  ),
  counter(
    'talkgroup_floor_rebuilt_total',
    'Times a relay made the floor of a talkgroup anew from what all relays know of it',
    shared(({ floors }) => floors.rebuilt),
  ),
  counter(
    'talkgroup_cluster_views_differ_total',
    'Messages about a floor from relays that take another relay for the one that decides it than this relay does',
    shared(({ floors }) => floors.viewsDiffer),
  ),
  counter(
    'talkgroup_floor_held_total',
    'Times a burst waited here for the end of the one before it',
    shared(({ counts }) => counts.held),
  ),
];
