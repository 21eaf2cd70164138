// Shows the keys of the console in a dialog.
import { desk } from '../app/desk.js';
import { Dialog } from '../dialogs/dialog.js';
import { keyName } from '../talk/keys.js';
import { isListOpen } from './state.js';
import { keyList as words } from './texts.js';

export default function KeyList() {
  const settings = desk.value?.settings.settings.value;
  if (settings === undefined || !isListOpen.value) return null;
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
          {words.keys.map(([key, effect], row) => (
            <tr key={key}>
              <th scope="row">{row === 0 ? `${key}: ${keyName(settings.talkKey)}` : key}</th>
              <td>{effect}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
