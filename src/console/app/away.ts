// Takes the talkers off the page while there is no connection, because the console does not know whether they still talk.
import type { Signal } from '@preact/signals';
import type { TalkgroupView } from '../worker/messages.js';

type Tiles = readonly { readonly id: string; readonly view: Signal<TalkgroupView> }[];

export type Away = {
  /** There is no connection any more. */
  lost(): void;
  /** Called without a connection when talkgroups have changed. */
  changed(talkgroupIds: readonly string[]): void;
  /** The radio reports what has changed since. Talkers that it does not report are still there. */
  back(): void;
};

export function createAway(tiles: () => Tiles): Away {
  const kept = new Map<string, TalkgroupView['talkers']>();
  const hide = () => {
    for (const { id, view } of tiles()) {
      const { talkers } = view.peek();
      if (talkers.length === 0) continue;
      kept.set(id, talkers);
      view.value = { ...view.peek(), talkers: [] };
    }
  };
  return {
    lost: hide,
    changed(talkgroupIds) {
      for (const id of talkgroupIds) kept.delete(id);
      hide();
    },
    back() {
      for (const { id, view } of tiles()) {
        const talkers = kept.get(id);
        if (talkers !== undefined) view.value = { ...view.peek(), talkers };
      }
      kept.clear();
    },
  };
}
