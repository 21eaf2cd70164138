// Shows where talkgroups are heard, when that is not one place for all.

import { listOutputs } from '../../client/sound/outputs.js';
import { desk as currentDesk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { type Device, useDevices } from '../sound/devices.js';
import { shell } from './texts.js';

const { outputs: words } = shell;

export default function Outputs() {
  const desk = currentDesk.value;
  const outputs = useDevices(listOutputs);
  if (desk === null) return null;
  const { listening, selectedOutput, unselectedOutput } = desk.settings.settings.value;
  const where = (side: string, id: string) => (listening === 'sides' ? side : labelOf(outputs.value, id));
  return (
    <>
      <p>
        <Icon name="headphones" />
        <span class="line name">{words.selected(where(words.left, selectedOutput))}</span>
      </p>
      <p>
        <Icon name="volume-2" />
        <span class="line name">{words.others(where(words.right, unselectedOutput))}</span>
      </p>
    </>
  );
}

const labelOf = (outputs: readonly Device[], id: string) =>
  outputs.find((one) => one.id === id)?.label || words.byDefault; // a label is empty before the microphone was allowed
