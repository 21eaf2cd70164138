// Shows the keys of the console in a dialog.
import { desk } from '../app/desk.js';
import { Dialog } from '../dialogs/dialog.js';
import { ownChoice } from '../replay/own-choice.js';
import { keyName } from '../talk/keys.js';
import { isListOpen } from './state.js';
import { keyList as words } from './texts.js';

export default function KeyList() {
  const settings = desk.value?.settings.settings.value;
  if (settings === undefined || !isListOpen.value) return null;
  const named: Readonly<Record<string, string>> = {
    [words.talkKey]: settings.talkKey,
    [words.replayKey]: ownChoice.key.value,
  };
  return (
    <Dialog
      name={words.title}
      onClose={() => {
        isListOpen.value = false;
      }}
    >
      {!settings.areLettersOn && <p>{words.off}</p>}
      <table class="key-list">
        <thead>
          <tr>
            <th scope="col">{words.key}</th>
            <th scope="col">{words.effect}</th>
          </tr>
        </thead>
        <tbody>
          {words.keys.map(([key, effect]) => (
            <tr key={key}>
              <th scope="row">{named[key] ? `${key}: ${keyName(named[key])}` : key}</th>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
