// What each scenario is, for the page: a title and what it does to the service. The order is that of the page.

export interface About {
  readonly title: string;
  readonly what: string;
}

/** By the name of the scenario; of one that is not here the page shows its name. */
export const ABOUT: Readonly<Record<string, About>> = {
  'one-talker-1000': {
    title: 'One talker, 1,000 listeners',
    what: 'The canonical load: one radio talks 50 frames a second, 1,000 listen. The relay and all other servers take turns in one run, so that whatever the machine does, it does to each of them.',
  },
  'one-talker-5000': {
    title: 'One talker, 5,000 listeners',
    what: 'Five times the listeners at a fifth of the rate, for 250,000 deliveries a second are more than one core carries: what grows with the audience, and what does not.',
  },
  'many-groups': {
    title: 'A hundred talkgroups at once',
    what: '100 talkgroups of 50 members. The number of those talked in at once rises until 99 of 100 deliveries are no longer there within a frame period of 20 ms, or one is lost. The step before is the capacity.',
  },
  'lag-pings': {
    title: 'Asking every listener whether it keeps up',
    what: '100 talkgroups of 50, all talked in at 10 frames a second. The relay with and without its pings to every listener takes turns with the bare engine: what the pings add to latency and to CPU time, also right after everybody has connected.',
  },
  'floor-access': {
    title: 'How soon may one talk?',
    what: 'Bursts begin at a steady rate in talkgroups with a single floor, every second one with a request: the time to the grant, and the time from a first frame to every listener.',
  },
  'late-entry': {
    title: 'How soon does a latecomer hear?',
    what: 'A burst runs in every talkgroup, and radios come into the middle of it, connecting or subscribing: the time to the first frame in hand. Up to 20 ms of it is the frame clock.',
  },
  'slow-listeners': {
    title: 'Listeners that do not keep up',
    what: 'Some radios stop reading or read too slowly. What do the others notice? Phases with and without alternate in one run, and the ratio of pairs is taken.',
  },
  flood: {
    title: 'A sender without measure',
    what: 'One radio sends a hundred times what is allowed, next door or in the same talkgroup, until it is closed. What do the others notice?',
  },
  'rest-under-audio': {
    title: 'REST beside audio',
    what: 'One radio talks to 200 while requests fall on the REST door in every second phase: p99 of the audio with them over p99 without.',
  },
  'rest-neighbour': {
    title: 'One user asks for much',
    what: 'One user lists a talkgroup of 10,000 members on 40 connections, each asking again when it is answered: how long another user waits for its talkgroups meanwhile, and the health check.',
  },
  'login-storm': {
    title: 'Everybody logs in at once',
    what: 'One radio talks to 200, and in every second phase 1,000 users log in within a second, each login a bcrypt hash: what the audio notices, and how soon those are turned away who cannot be served.',
  },
  'silent-database': {
    title: 'A database that falls silent',
    what: 'One radio talks to 200, and a few requests a second come to the REST door. In every second phase PostgreSQL is stopped: its connections stay open, and nothing answers. What does the audio notice, and how long does anybody wait for an answer?',
  },
  'reconnect-storm': {
    title: 'Everybody reconnects at once',
    what: '10,000 radios lose their connection at the same moment and come back, while others talk on: how long until the last one hears again, and what those notice who had stayed.',
  },
  'gps-tide': {
    title: 'A tide of positions',
    what: 'Radios and phones report where they are, beside live audio, at a rate that rises step by step. The number is the highest rate that is acknowledged, after the commit, in time: bare commits beside it tell what the disk takes.',
  },
  'rest-read': {
    title: 'Reading over REST',
    what: 'Reads arrive by the clock, whether or not earlier ones are answered, at a rate that rises step by step. The number is the highest rate at which 99 of 100 answers are there within 50 ms. Beside it stands what a closed loop claims of the same server.',
  },
  'rest-write': {
    title: 'Writing over REST',
    what: 'The same with positions, joins and leaves, each answered after its commit.',
  },
  'idle-memory': {
    title: 'What an idle radio costs',
    what: 'Radios connect and say nothing: what each adds to the memory of the server, and the CPU time of its handshake.',
  },
  garbage: {
    title: 'What a frame leaves behind',
    what: 'Memory allocated for each frame that passes through the relay, and the pauses of its collection.',
  },
  'where-time-goes': {
    title: 'Where the time goes',
    what: 'One radio talks to 1,000 under a profiler: how much of what a delivery costs is the kernel, how much is which function, and how many system calls it takes.',
  },
  soak: {
    title: 'Half an hour',
    what: 'A steady mixed load for 30 minutes: does memory, latency or anything else drift?',
  },
  monitor: {
    title: 'Monitors of ten talkgroups',
    what: 'A hundred dispatchers hear ten talkers at once, live and with `coalesce_ms` 10, in turns on one relay: what a delivered frame costs when those of 10 ms leave in one write.',
  },
  bundles: {
    title: 'Frames in bundles',
    what: 'One talker and 1,000 listeners, live and with `bundle_ms` 60, in turns on one relay: what three frames in a message save, and how much later they come.',
  },
};
