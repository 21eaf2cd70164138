// Rights that are taken while they are used: members put out, devices disabled.
import { setTimeout as pause } from 'node:timers/promises';
import { END, START } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import { anyRadio, existing, type Fault, type Mend, repeat } from './fault.js';
import { FRAME_MS } from './history.js';
import type { CrewRadio, Talkgroup } from './radio.js';
import type { Answer } from './requests.js';
import type { Scene } from './scene.js';

/** And logins, which ask for them. */
export const rightFaults: readonly Fault[] = [
  {
    name: 'logins come in a burst',
    plan(random) {
      const count = random.whole(20, 60);
      return {
        detail: `${count} at once`,
        async begin({ login }) {
          await Promise.all(Array.from({ length: count }, (_, index) => login(index)));
          return () => {};
        },
      };
    },
  },
  {
    name: 'members are taken out while they talk',
    plan(random) {
      const [which, isByAdmin] = [anyRadio(random), random.next() < 0.5];
      return {
        detail: `radio ${which}, ${isByAdmin ? 'by the admin' : 'by itself'}`,
        begin: (scene) => withdrawAgainAndAgain(scene, membershipOf(scene, which, isByAdmin)),
      };
    },
  },
  {
    name: 'a device is disabled while its radio talks',
    plan(random) {
      const which = anyRadio(random);
      return {
        detail: `radio ${which}`,
        begin: (scene) => withdrawAgainAndAgain(scene, deviceOf(scene, which)),
      };
    },
  },
];

/** A right that is taken and given back. */
interface Right {
  readonly radio: CrewRadio;
  /** Where it talks meanwhile. */
  readonly talkgroup: Talkgroup;
  /** Where it must be silent then. null: everywhere. */
  readonly scope: Talkgroup | null;
  take(): Promise<Answer>;
  giveBack(): Promise<Answer>;
}

function membershipOf({ crew, call, adminToken }: Scene, which: number, isByAdmin: boolean): Right {
  const radio = existing(crew[which]);
  const talkgroup = existing(radio.talkgroups[0]);
  const path = `/talkgroups/${talkgroup.id}`;
  return {
    radio,
    talkgroup,
    scope: talkgroup,
    take: () =>
      isByAdmin
        ? call({ method: 'DELETE', path: `${path}/members/${radio.id}`, token: adminToken })
        : call({ method: 'DELETE', path: `${path}/leave`, token: radio.token }),
    giveBack: () => call({ method: 'POST', path: `${path}/join`, token: radio.token }),
  };
}

function deviceOf({ crew, call, adminToken }: Scene, which: number): Right {
  const radio = existing(crew[which]);
  const set = (active: boolean) =>
    call({ method: 'PATCH', path: `/devices/${radio.deviceId}/status`, token: adminToken, body: { active } });
  return {
    radio,
    talkgroup: existing(radio.talkgroups[0]),
    scope: null,
    take: () => set(false),
    giveBack: () => set(true),
  };
}

/** How long it talks on without the right. */
const TALKS_ON_MS = 600;

function withdrawAgainAndAgain({ notes }: Scene, right: Right): Mend {
  const { radio, talkgroup, scope } = right;
  notes.touched.add(radio.index);

  async function once(): Promise<void> {
    let sequence = 0;
    const stopTalking = repeat(FRAME_MS, () => {
      radio.say(talkgroup, sequence, sequence === 0 ? START : 0);
      sequence++;
    });
    await pause(300);
    const { status, atMs: fromMs } = await right.take();
    await pause(TALKS_ON_MS);
    await stopTalking();
    if (status === 200)
      notes.withdrawals.push({
        radio: radio.index,
        talkgroup: scope?.number ?? null,
        fromMs,
        untilMs: performance.now(),
      });
    await giveBack();
    radio.say(talkgroup, sequence, END);
  }

  async function giveBack(): Promise<void> {
    await eventually(async () => {
      const { status } = await right.giveBack();
      if (status !== 200) throw new Error(`radio ${radio.index} did not get its right back: ${status}`);
    }, 30_000);
    if (!radio.isOpen) radio.reconnect(); // once a minute it would try by itself
  }

  const stop = repeat(200, once);
  return async () => {
    await stop();
    await giveBack(); // should the last time have been broken off
  };
}
