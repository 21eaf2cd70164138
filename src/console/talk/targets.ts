// Decides to which talkgroups the talk key and the button of the talk bar talk.

/**
 * The selected ones. Without any, the one with the focus, and a user with a single talkgroup always talks there. Empty:
 * the user must select one.
 */
export function targetsOf({
  selected,
  focused,
  all,
}: {
  selected: readonly string[];
  /** The talkgroup of the focused control. */
  focused: string | null;
  all: readonly string[];
}): readonly string[] {
  if (selected.length > 0) return selected;
  if (focused !== null && all.includes(focused)) return [focused];
  return all.length === 1 ? all : [];
}
