// Keeps the sessions of one talkgroup that are online, page by page, and follows those that come and go.
import { batch, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Clock } from '../../client/clock.js';
import type { ClientMessage, Member, MemberPage, ServerMessage } from '../../client/radio.js';

export type Online = {
  /** In the order of their session numbers. */
  readonly members: ReadonlySignal<readonly Member[]>;
  readonly online: ReadonlySignal<number>;
  /** More pages follow. */
  readonly hasMore: ReadonlySignal<boolean>;
  readonly phase: ReadonlySignal<'loading' | 'ready' | 'failed'>;
  /** Asks for the next page. */
  more(): void;
  take(message: ServerMessage): void;
  /** After another connection: asks for the first page again. */
  askAnew(): void;
  close(): void;
};

const PAGE = 100;
// The relay answers MEMBERS once in 2 s. A little later, so that the clocks may differ.
const APART_MS = 2_100;

/** Asks for the first page at once. `request` rejects when the relay does. */
export function createOnline(
  talkgroupId: string,
  request: (message: ClientMessage) => Promise<ServerMessage>,
  clock: Clock,
): Online {
  const bySession = new Map<number, Member>();
  const members: Signal<readonly Member[]> = signal([]);
  const online = signal(0);
  const hasMore = signal(false);
  const phase: Signal<'loading' | 'ready' | 'failed'> = signal('loading');
  /** The last session of the pages that have come. null: no page has come, or all have. */
  let next: number | null = 0;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let cancel = () => {};
  let isClosed = false;
  /** Counts the pages that were asked for: only the answer to the last one is shown. */
  let asks = 0;

  ask();
  return {
    members,
    online,
    hasMore,
    phase,
    ...{ more: ask, askAnew },
    take(message) {
      if (message.type === 'PRESENCE' && message.talkgroup_id === talkgroupId) follow(message);
    },
    close() {
      isClosed = true;
      cancel();
    },
  };

  function ask(): void {
    cancel();
    asks += 1;
    const own = asks;
    phase.value = 'loading';
    cancel = clock.after(Math.max(0, askedAtMs + APART_MS - clock.nowMs()), () => {
      askedAtMs = clock.nowMs();
      request({ type: 'MEMBERS', talkgroup_id: talkgroupId, after: next ?? 0, limit: PAGE }).then(
        (answer) => answer.type === 'MEMBERS' && !isClosed && own === asks && show(answer),
        () => {
          if (own === asks) phase.value = 'failed';
        },
      );
    });
  }

  function show(page: MemberPage): void {
    for (const member of page.members) bySession.set(member.session, member);
    next = page.next;
    batch(() => {
      hasMore.value = page.next !== null;
      phase.value = 'ready';
      render(page.online);
    });
  }

  function follow({ joined, left, online: count }: Extract<ServerMessage, { type: 'PRESENCE' }>): void {
    if (joined === undefined && left === undefined) return askAnew();
    for (const session of left ?? []) bySession.delete(session);
    // Those beyond the pages that have come follow with their page.
    for (const member of joined ?? [])
      if (next === null || member.session <= next) bySession.set(member.session, member);
    batch(() => render(count));
  }

  /** More came or went than PRESENCE names. */
  function askAnew(): void {
    bySession.clear();
    next = 0;
    ask();
  }

  function render(count: number): void {
    members.value = [...bySession.values()].sort((one, other) => one.session - other.session);
    online.value = count;
  }
}
