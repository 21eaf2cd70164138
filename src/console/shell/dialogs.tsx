// Shows the dialogs over the page. Their code is loaded together, with the first of them.
import { desk } from '../app/desk.js';
import { asked } from '../dialogs/state.js';
import Question from '../dialogs/view.js';
import KeyList from '../keyboard/list.js';
import { isListOpen } from '../keyboard/state.js';
import KeysDialog from '../keys/view.js';
import MembersDialog from '../members/view.js';

export default function Dialogs() {
  const now = desk.value;
  if (now === null) return null;
  const hasMembers = now.membersOf.value !== null;
  return (
    <>
      {hasMembers && <MembersDialog />}
      {/* Not over another dialog. */}
      {now.keys.isAsking.value && !hasMembers && <KeysDialog />}
      {isListOpen.value && <KeyList />}
      {asked.value !== null && <Question />}
    </>
  );
}
