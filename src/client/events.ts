// Emits typed events.

/** The side that listens to events of the map `Events` (name to value). */
export type Listenable<Events> = {
  /** Calls `listener` at every such event. Returns a function that stops this. Does not catch errors of listeners. */
  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => void): () => void;
};

/** The side that emits. Listeners run synchronously, in the order in which they were added. */
export type Emitter<Events> = Listenable<Events> & {
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void;
};

/** Creates an emitter without listeners. */
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
      // A copy, because a listener may unsubscribe itself or others.
      for (const listener of [...(listeners[name] ?? [])]) listener(event);
    },
  };
}
