// Assigns talkers to the slots of *On air now*. A talker keeps the slot, so that a button in it never changes its meaning.

export const SLOTS = 4;
/** A talk that has ended stays for this time. */
export const ENDED_MS = 10_000;

export type OnAirTalker = {
  /** Of a session of a user in a talkgroup: the same for its next burst. */
  key: string;
  talkgroupId: string;
  /** The name of the talkgroup. */
  talkgroup: string;
  username: string;
  /** Unix time (ms) of this computer. */
  startedAtMs: number;
  emergency: boolean;
  /** This console talks. */
  isOwn: boolean;
  /** This console cannot decode the talker. */
  isUnopened: boolean;
};

/** `endedAtMs` null: the talker is on air. */
export type Slot = OnAirTalker & { endedAtMs: number | null };

/** Always SLOTS of them. null: the slot is free. */
export type Slots = readonly (Slot | null)[];

export const noSlots: Slots = Array.from({ length: SLOTS }, () => null);

type Now = {
  nowMs: number;
  /** Indexes of the slots with the pointer or the focus: no other talker comes there. */
  kept: ReadonlySet<number>;
};

/** `more`: number of talkers without a slot. A slot that has not changed is the same object. */
export function assign(
  slots: Slots,
  talkers: readonly OnAirTalker[],
  now: Now,
): { slots: Slots; more: number } {
  const running = new Map(talkers.map((talker) => [talker.key, talker]));
  const next = slots.map((slot, index) =>
    slot === null ? null : renewed(slot, running.get(slot.key), now.kept.has(index), now.nowMs),
  );
  const isShown = ({ key }: OnAirTalker) => next.some((slot) => slot?.key === key);
  for (const talker of talkers.filter((one) => !isShown(one)).sort(inTurn)) {
    const index = placeFor(talker, next, now.kept);
    if (index !== null) next[index] = { ...talker, endedAtMs: null };
  }
  return { slots: next, more: talkers.filter((one) => !isShown(one)).length };
}

function renewed(slot: Slot, talker: OnAirTalker | undefined, isKept: boolean, nowMs: number): Slot | null {
  if (talker !== undefined) return isSame(slot, talker) ? slot : { ...talker, endedAtMs: null };
  if (slot.endedAtMs === null) return { ...slot, endedAtMs: nowMs };
  return isKept || nowMs - slot.endedAtMs < ENDED_MS ? slot : null;
}

const isSame = (slot: Slot, talker: OnAirTalker) =>
  slot.endedAtMs === null &&
  slot.startedAtMs === talker.startedAtMs &&
  slot.emergency === talker.emergency &&
  slot.isUnopened === talker.isUnopened &&
  slot.talkgroup === talker.talkgroup;

/** Emergencies first, then in the order of their beginning. */
const inTurn = (one: OnAirTalker, other: OnAirTalker) =>
  Number(other.emergency) - Number(one.emergency) || one.startedAtMs - other.startedAtMs;

/** The first free slot, else that of the talk that ended first. An emergency also takes that of the oldest other talker. */
function placeFor({ emergency }: OnAirTalker, slots: Slots, kept: ReadonlySet<number>): number | null {
  const free = slots.indexOf(null);
  if (free >= 0) return free;
  const open = slots.flatMap((slot, index) => (slot === null || kept.has(index) ? [] : [{ ...slot, index }]));
  const ended = open.filter(({ endedAtMs }) => endedAtMs !== null);
  const ordinary = emergency ? open.filter((slot) => !slot.emergency && slot.endedAtMs === null) : [];
  const [first] = [
    ...ended.sort((one, other) => (one.endedAtMs ?? 0) - (other.endedAtMs ?? 0)),
    ...ordinary.sort((one, other) => one.startedAtMs - other.startedAtMs),
  ];
  return first?.index ?? null;
}
