// Decides whom the talk key with Shift answers.

/**
 * The talkgroup of the latest talker. `heardAtMs`: by talkgroup, when the latest burst of another user began. Talkgroups that
 * `isMuted` names do not count: the user has not heard the talker. Empty: there is no user to answer.
 */
export function latestTalker(
  heardAtMs: ReadonlyMap<string, number>,
  isMuted: (talkgroupId: string) => boolean,
): readonly string[] {
  const [latest] = [...heardAtMs].filter(([id]) => !isMuted(id)).sort(([, one], [, other]) => other - one);
  return latest === undefined ? [] : [latest[0]];
}
