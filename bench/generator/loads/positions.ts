// Radios that say where they are over their WebSockets, and phones that do so by REST, at one steady rate together.
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { countOf, onSchedule, type Schedule } from '../../machine/schedule.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { type Busy, fail, type Performance, perform } from '../player.js';
import { createSender, encodeRequest, type Sent } from '../requests.js';

export interface PositionsSetup {
  readonly server: Target;
  readonly restUrl: string;
  readonly connectionsMax: number;
  /** Each with a device of its own. */
  readonly radios: readonly Member[];
  readonly phones: readonly Member[];
  /** Of all fixes, those that come by REST. */
  readonly phonesShare: number;
}

/** Of radios and phones together. */
export type PositionsPiece = Schedule;

export interface PositionsPlayed extends Busy {
  readonly radios: Reported;
  readonly phones: Sent;
}

/** Of fixes sent by WebSocket. */
export interface Reported {
  readonly fixes: number;
  /** From when each was due to its OK. One without counts what it waited. */
  readonly latency: Latency;
  /** Answers other than OK by their code, and `unanswered`. */
  readonly failures: Readonly<Record<string, number>>;
  readonly late: Latency;
}

/** One device's fixes, numbered from 1 in their altitude. */
export interface Account {
  readonly deviceId: string;
  /** By nowMs(). null: never said to be stored. */
  readonly fixes: readonly { readonly sentMs: number; readonly storedMs: number | null }[];
}

const ANSWER_MS_MAX = 6_000;

perform<PositionsSetup, PositionsPiece, PositionsPlayed, readonly Account[]>(prepare);

async function prepare(
  setup: PositionsSetup,
): Promise<Performance<PositionsPiece, PositionsPlayed, readonly Account[]>> {
  const { restUrl, connectionsMax, phonesShare } = setup;
  const radios = await createRadios(setup);
  const phones = createLedger(setup.phones);
  const sender = createSender({ url: restUrl, connectionsMax });

  function reportByRest({ fromMs, ms, perSecond }: PositionsPiece): Promise<Sent> {
    const fixes = new Map<number, Fix>();
    return sender.play({
      fromMs,
      ms,
      perSecond: perSecond * phonesShare,
      request(index) {
        const fix = phones.next();
        fixes.set(index, fix);
        const { token, deviceId } = fix.member;
        return encodeRequest({
          method: 'POST',
          path: `/devices/${deviceId}/gps`,
          token,
          body: positionOf(fix),
        });
      },
      answered(index, { status }) {
        if (status === 200) fixes.get(index)?.stored();
      },
    });
  }

  return {
    async play(piece) {
      const usage = readUsage([]);
      const [byRadio, byRest] = await Promise.all([
        radios.report({ ...piece, perSecond: piece.perSecond * (1 - phonesShare) }),
        reportByRest(piece),
      ]);
      const { generatorShare } = sharesOf(spent(usage, readUsage([])));
      return { radios: byRadio, phones: byRest, generatorShare };
    },
    end: async () => [...radios.accounts(), ...phones.accounts()],
  };
}

/** Resolves when all have joined. */
async function createRadios({ server, radios: users }: PositionsSetup) {
  const ledger = createLedger(users);
  const underWay = new Map<number, { readonly fix: Fix; readonly dueMs: number }>();
  let ref = 0;
  let record = createRecord();

  function told({ type, ref: answered, code }: Said): void {
    const asked = underWay.get(answered as number); // of ours. undefined in what was not asked for
    if (asked === undefined) return;
    underWay.delete(answered as number);
    record.latency.record(nowMs() - asked.dueMs);
    if (type === 'OK') asked.fix.stored();
    else record.fail(`${code}`);
  }

  const radios = await joinAll(
    users,
    (token) => new RawRadio({ target: server, token, receive: () => {}, told, lost: fail }),
  );

  return {
    accounts: ledger.accounts,
    /** Resolves when all are answered, or ANSWER_MS_MAX after the piece. */
    async report(schedule: Schedule): Promise<Reported> {
      record = createRecord();
      const { latency, late, failures } = record;
      await onSchedule(schedule, (dueMs, lateMs) => {
        late.record(lateMs);
        const fix = ledger.next();
        underWay.set(++ref, { fix, dueMs });
        radios[fix.index]?.say({ type: 'GPS_UPDATE', ...positionOf(fix), ref });
      });
      await until(() => underWay.size === 0, ANSWER_MS_MAX);
      for (const { dueMs } of underWay.values()) {
        latency.record(nowMs() - dueMs);
        record.fail('unanswered');
      }
      underWay.clear();
      return { fixes: countOf(schedule), latency: latency.latency(), late: late.latency(), failures };
    },
  };
}

function createRecord() {
  const failures: Record<string, number> = {};
  return {
    latency: createRecorder(),
    late: createRecorder(),
    failures,
    fail(code: string): void {
      failures[code] = (failures[code] ?? 0) + 1;
    },
  };
}

interface Fix {
  /** Whose it is. */
  readonly member: Member;
  readonly index: number;
  /** From 1. */
  readonly number: number;
  stored(): void;
}

/** The altitude is the fix's number, so that the database can be asked which one it holds. */
const positionOf = ({ number }: Fix) => ({ lat: 52.5, lng: 13.4, alt: number });

/** Which device reports next, and what became of each of its fixes. */
function createLedger(members: readonly Member[]) {
  const devices = members.map((member, index) => ({
    member,
    index,
    fixes: [] as { sentMs: number; storedMs: number | null }[],
  }));
  let turn = 0;
  return {
    /** About to be sent. */
    next(): Fix {
      const device = devices[turn++ % devices.length];
      if (device === undefined) throw new RangeError('positions are those of devices');
      const { member, index, fixes } = device;
      const fix = { sentMs: nowMs(), storedMs: null as number | null };
      const number = fixes.push(fix);
      return {
        member,
        index,
        number,
        stored() {
          fix.storedMs = nowMs();
        },
      };
    },
    accounts: (): Account[] =>
      devices.map(({ member: { deviceId }, fixes }) => ({ deviceId: deviceId ?? '', fixes })),
  };
}
