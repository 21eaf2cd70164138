// What can happen to a link, be it between service and database or between radios and relay.
import type { ChaosProxy } from '../helpers/network/chaos-proxy.js';
import type { Random } from '../helpers/random.js';
import { existing, type Fault, type Mend, repeat } from './fault.js';
import { linkOf } from './scene.js';

/** The link between service and database. */
export const databaseLinkFaults = () =>
  linkFaults.map(
    ({ name, draw }): Fault => ({
      name: `the link to the database ${name}`,
      plan(random) {
        const { detail, begin } = draw(random);
        return { detail, begin: ({ databaseLink }) => begin(databaseLink) };
      },
    }),
  );

/** One of the two links between radios and relay. */
export const relayLinkFaults = () =>
  linkFaults.map(
    ({ name, draw }): Fault => ({
      name: `a link of radios ${name}`,
      plan(random) {
        const { detail, begin } = draw(random);
        const which = random.whole(0, 1);
        return {
          detail: `link ${which}: ${detail}`,
          begin({ links, crew, notes }) {
            for (const { index } of crew) if (linkOf(index) === which) notes.touched.add(index);
            return begin(existing(links[which]));
          },
        };
      },
    }),
  );

export interface DrawnLinkFault {
  readonly detail: string;
  begin(link: ChaosProxy): Mend;
}

export const hole = (): DrawnLinkFault => ({
  detail: 'what is sent is lost',
  begin(link) {
    link.hole();
    return () => {
      link.heal();
      link.reset(); // what is half-open for ever would be found in its own time. An episode has not so much
    };
  },
});

export function slow(random: Random): DrawnLinkFault {
  const ms = random.whole(50, 600);
  return {
    detail: `${ms} ms in each direction`,
    begin(link) {
      link.delay(ms);
      return () => link.delay(0);
    },
  };
}

/** It lets at least `bytesMin` through in a second. */
export const narrow =
  (bytesMin: number) =>
  (random: Random): DrawnLinkFault => {
    const bytes = random.whole(bytesMin, 20_000);
    return {
      detail: `${bytes} bytes a second`,
      begin(link) {
        link.limit(bytes);
        return () => link.limit(Number.POSITIVE_INFINITY);
      },
    };
  };

/** What can happen to a link, to whatever it leads. */
const linkFaults: readonly { readonly name: string; draw(random: Random): DrawnLinkFault }[] = [
  { name: 'is a hole', draw: hole },
  {
    name: 'stalls',
    draw: () => ({
      detail: 'nothing moves, nothing is lost',
      begin(link) {
        link.stall(true);
        return () => link.stall(false);
      },
    }),
  },
  { name: 'is slow', draw: slow },
  { name: 'is narrow', draw: narrow(1000) },
  {
    name: 'slices',
    draw(random) {
      const bytes = random.whole(1, 40);
      return {
        detail: `pieces of ${bytes} bytes`,
        begin(link) {
          link.slice(bytes);
          return () => link.slice(Number.POSITIVE_INFINITY);
        },
      };
    },
  },
  {
    name: 'is reset again and again',
    draw(random) {
      const everyMs = random.whole(200, 2000);
      return { detail: `every ${everyMs} ms`, begin: (link) => repeat(everyMs, () => link.reset()) };
    },
  },
  {
    name: 'is reset at a byte',
    draw(random) {
      const bytes = random.whole(100, 20_000);
      return {
        detail: `each connection after ${bytes} bytes`,
        begin(link) {
          link.resetAfter(bytes);
          return () => link.resetAfter(Number.POSITIVE_INFINITY);
        },
      };
    },
  },
];
