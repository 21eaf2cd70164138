// Decides whether the first steps are shown: while the user has no talkgroup, or has never opened a microphone.
import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';

export type FirstRun = {
  readonly isShown: ReadonlySignal<boolean>;
  /** Whether the microphone was allowed before this page was loaded. null: not known yet. */
  readonly wasAllowed: ReadonlySignal<boolean | null>;
  allowed(isAllowed: boolean): void;
  /** The user follows the steps. They stay until they are left, also when all are done. */
  begin(): void;
  leave(): void;
};

export function createFirstRun({
  isConnected,
  hasTalkgroup,
  isSetUp,
}: {
  isConnected: ReadonlySignal<boolean>;
  hasTalkgroup: ReadonlySignal<boolean>;
  /** The user of this browser has finished or left the steps. */
  isSetUp: ReadonlySignal<boolean>;
}): FirstRun {
  const wasAllowed: Signal<boolean | null> = signal(null);
  const isBegun = signal(false);
  const isLeft = signal(false);
  const isNeeded = computed(() => {
    if (isConnected.value && !hasTalkgroup.value) return true;
    return hasTalkgroup.value && wasAllowed.value === false && !isSetUp.value;
  });
  return {
    wasAllowed,
    isShown: computed(() => !isLeft.value && (isBegun.value || isNeeded.value)),
    allowed(isAllowed) {
      wasAllowed.value = isAllowed;
    },
    begin() {
      isBegun.value = true;
    },
    leave() {
      isLeft.value = true;
    },
  };
}

export type StepName = 'talkgroup' | 'microphone' | 'people';

/** The step that is open: the first one that is not done and that the user can do. null: all are done. */
export function openStep(
  steps: readonly { name: StepName; isDone: boolean; isPossible: boolean }[],
): StepName | null {
  const left = steps.filter(({ isDone }) => !isDone);
  return (left.find(({ isPossible }) => isPossible) ?? left[0])?.name ?? null;
}
