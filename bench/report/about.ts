// What each scenario is, for the page: a title and what it does to the service. The order is that of the page.

export interface About {
  readonly title: string;
  readonly what: string;
}

/** By the name of the scenario. Of one that is not here the page shows its name. */
export const ABOUT: Readonly<Record<string, About>> = {
  'one-talker-1000': {
    title: 'One talker, 1,000 listeners',
    what: 'The canonical load: one radio talks 50 frames a second, 1,000 listen. The relay and all other servers take turns in one run, so that each meets the same conditions of the machine.',
  },
  'one-talker-5000': {
    title: 'One talker, 5,000 listeners',
    what: 'Five times the listeners at a fifth of the rate, because 250,000 deliveries a second are more than one core carries. It shows which costs grow with the audience.',
  },
  'many-groups': {
    title: '100 active talkgroups',
    what: '100 talkgroups of 50 members. The number of active ones rises until fewer than 99 of 100 deliveries arrive within a frame period of 20 ms, or one is lost. The step before is the capacity.',
  },
  overload: {
    title: 'More speech than one core can send frame by frame',
    what: 'Talkgroups of 50, each with a talker. The load rises in steps until a listener loses a frame or hears it too late: on the bare engine, on a relay that sends each frame at once, and on relays that hold audio for up to 40, 60 and 100 ms while they are under load. It shows how much more speech one core carries, and for how much delay. Then the load on a relay with its default settings rises to three times what the engine sends in time, and falls again. Every frame, LAG and event number of each listener is accounted for, and first frames and emergencies are timed under load.',
  },
  'lag-pings': {
    title: 'Lag pings to every listener',
    what: '100 talkgroups of 50, all active at 10 frames a second. The relay with and without its pings to every listener takes turns with the bare engine. It shows how much latency and CPU time the pings add, also directly after all radios have connected.',
  },
  'floor-access': {
    title: 'Time to the floor',
    what: 'Bursts begin at a steady rate in talkgroups with a single floor, every second one with a request. It shows the time to the grant, and the time from a first frame to every listener.',
  },
  'late-entry': {
    title: 'Late entry',
    what: 'A burst runs in every talkgroup, and radios enter in the middle of it, connecting or subscribing. It shows the time to the first frame. Up to 20 ms of it is the frame clock.',
  },
  encryption: {
    title: 'Encrypted speech',
    what: 'Radios enter in the middle of an encrypted burst and fetch its key, also beside a storm of logins. A talkgroup of 1,000 key holders rotates its key while a member talks. Frames of encrypted and clear bursts take turns. It shows the time to the first decrypted frame, how soon all have the new key, and the cost of sealed frames.',
  },
  'slow-listeners': {
    title: 'Listeners that do not keep up',
    what: 'Some radios stop reading or read too slowly. Phases with and without them alternate in one run. It shows the effect on the other radios as the ratio of pairs.',
  },
  flood: {
    title: 'A flooding client',
    what: 'One radio sends a hundred times its limit, in another talkgroup or in the same, until it is closed. It shows the effect on the other radios.',
  },
  'rest-under-audio': {
    title: 'REST beside audio',
    what: 'One radio talks to 200 while requests come to the REST API in every second phase. It shows p99 of the audio with them over p99 without.',
  },
  'rest-neighbour': {
    title: 'One user with long lists',
    what: 'One user lists a talkgroup of 10,000 members on 40 connections, each asking again after its answer. It shows how long another user waits for its talkgroups meanwhile, and the health check.',
  },
  'login-storm': {
    title: '1,000 logins at once',
    what: 'One radio talks to 200, and in every second phase 1,000 users log in within a second, each login a bcrypt hash. It shows the effect on the audio, and how soon excess logins are rejected.',
  },
  'silent-database': {
    title: 'A database that stops answering',
    what: 'One radio talks to 200, and a few requests a second come to the REST API. In every second phase PostgreSQL is stopped: its connections stay open, and nothing answers. It shows the effect on the audio, and the longest wait for an answer.',
  },
  positions: {
    title: 'Live positions',
    what: 'Radios report positions, and sessions watch their talkgroup. It shows how long a position takes to a watcher, on one thread, over two threads and over two nodes, what watching adds to the cost of a position, and whether a watcher of 5,000 devices behind 1 Mbit/s keeps up with speech.',
  },
  'reconnect-storm': {
    title: 'A mass reconnect',
    what: '10,000 radios lose their connection at the same moment and come back, while others talk on. It shows how long it takes until the last one hears again, and the effect on radios that stayed.',
  },
  'gps-tide': {
    title: 'Position ingest',
    what: 'Radios and phones report positions, beside live audio, at a rate that rises step by step. The number is the highest rate that is acknowledged in time, after the commit. Bare commits beside it show the share of the disk.',
  },
  'rest-read': {
    title: 'Reading over REST',
    what: 'Reads arrive by the clock, whether or not earlier ones are answered, at a rate that rises step by step. The number is the highest rate with 99 of 100 answers within 50 ms. The claim of a closed loop about the same server is shown beside it.',
  },
  'rest-write': {
    title: 'Writing over REST',
    what: 'The same with positions, joins and leaves, each answered after its commit.',
  },
  'idle-memory': {
    title: 'Cost of an idle radio',
    what: 'Radios connect and say nothing. It shows the memory of the server that each adds, and the CPU time of its handshake.',
  },
  threads: {
    title: 'Two relay threads beside one',
    what: 'The same loads on one and on two relay threads in turns. It shows what a delivery costs on two threads relative to one, the share of the busiest thread, how Linux deals connections out to them, and what a frame costs that crosses to the other thread. Two cores do not show how many deliveries two threads make together: that line is an estimate from the CPU time of the busiest thread.',
  },
  cluster: {
    title: 'Two nodes over NATS',
    what: 'Two nodes with one nats-server between them. Turns without listeners, with listeners on the node of the talkers, and with more on the other node alternate. It shows the CPU time of a frame that goes to another node, and how much later it is heard there. Two cores do not show how many deliveries three nodes make together: those lines are estimates from the CPU time of a frame.',
  },
  'cluster-faults': {
    title: 'Nodes and NATS servers that fail',
    what: 'Three nodes and three nats-servers on one machine. One after the other is killed, stands still, is cut off or is restarted, while radios talk, listen and come back. It shows for how long radios notice each fault.',
  },
  garbage: {
    title: 'Garbage of a frame',
    what: 'Memory allocated for each frame that passes through the relay, and the pauses of its collection.',
  },
  'where-time-goes': {
    title: 'CPU time by function',
    what: 'One radio talks to 1,000 under a profiler. It shows the share of the kernel, the share of each function, and the number of system calls in a delivery.',
  },
  soak: {
    title: 'Half an hour',
    what: 'A steady mixed load for 30 minutes. It shows whether memory or descriptors grow.',
  },
  monitor: {
    title: 'Monitors of ten talkgroups',
    what: '200 dispatchers hear ten talkers at once, live and with `coalesce_ms` 10, in turns on one relay. It shows the cost of a delivered frame when the frames of 10 ms leave in one write.',
  },
  bundles: {
    title: 'Frames in bundles',
    what: 'One talker and 1,000 listeners, live and with `bundle_ms` 60, in turns on one relay. It shows the saving of three frames in a message, and the added latency.',
  },
};
