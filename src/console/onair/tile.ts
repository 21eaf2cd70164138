// Scrolls to the tile of a talkgroup, on the tab Talkgroups.
import { hash, show } from '../app/places.js';

/** The tab may have to be loaded first. Does nothing more when the user opens another tab meanwhile. */
export function goToTile(talkgroupId: string): void {
  show('talkgroups');
  if (scrolled(talkgroupId)) return;
  const watching = new MutationObserver(() => {
    if (hash.peek() !== 'talkgroups' || scrolled(talkgroupId)) watching.disconnect();
  });
  watching.observe(document.body, { childList: true, subtree: true });
}

function scrolled(talkgroupId: string): boolean {
  const tile = document.querySelector(`[data-talkgroup="${CSS.escape(talkgroupId)}"]`);
  tile?.scrollIntoView({ block: 'nearest' });
  return tile !== null;
}
