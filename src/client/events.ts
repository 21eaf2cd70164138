// Typed events, small enough for a browser.

/** Subscribes to events of the map `Events` (name to value). */
export type Listenable<Events> = {
  /** Calls `listener` at every such event until the returned function is called; what a listener throws is not caught. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void;
};

/** The side that emits; listeners run synchronously, in the order they were added. */
export type Emitter<Events> = Listenable<Events> & {
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void;
};

/** An emitter nobody listens to yet. */
export function createEmitter<Events>(): Emitter<Events> {
  const listeners: { [Name in keyof Events]?: Set<(event: Events[Name]) => void> } = {};
  return {
    on(name, listener) {
      const set = listeners[name] ?? new Set();
      listeners[name] = set;
      set.add(listener);
      return () => set.delete(listener);
    },
    emit(name, event) {
      // A copy, for a listener may unsubscribe itself or others.
      for (const listener of [...(listeners[name] ?? [])]) listener(event);
    },
  };
}
