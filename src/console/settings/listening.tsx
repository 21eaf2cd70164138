// Chooses where talkgroups are heard: both ears, left and right, or two outputs.

import { listOutputs } from '../../client/sound/outputs.js';
import type { Desk } from '../app/desk.js';
import { type Device, useDevices } from '../sound/devices.js';
import type { Settings } from './state.js';
import { settings as words } from './texts.js';

const ways = ['both', 'sides', 'outputs'] as const;

export function Listening({ desk }: { desk: Desk }) {
  const { settings, sound, microphone } = desk;
  const now = settings.settings.value;
  /** Empty: this browser plays on one output only. */
  const outputs = useDevices(listOutputs, microphone.state.value === 'open').value;
  const shown = ways.filter((way) => way !== 'outputs' || outputs.length > 0);
  const choose = (which: 'selected' | 'unselected', id: string) => {
    settings.change(which === 'selected' ? { selectedOutput: id } : { unselectedOutput: id });
    sound.setOutput(which, id).catch(() => {}); // NotFoundError: the device was unplugged, and the list follows
  };
  return (
    <div class="field">
      <label class="field">
        {words.listening}
        <select
          value={now.listening}
          onChange={(event) => change(desk, event.currentTarget.value as Settings['listening'])}
        >
          {shown.map((way) => (
            <option key={way} value={way}>
              {words[way]}
            </option>
          ))}
        </select>
      </label>
      {now.listening === 'outputs' && (
        <>
          <OutputChoice
            name={words.selectedOutput}
            id={now.selectedOutput}
            outputs={outputs}
            choose={(id) => choose('selected', id)}
          />
          <OutputChoice
            name={words.unselectedOutput}
            id={now.unselectedOutput}
            outputs={outputs}
            choose={(id) => choose('unselected', id)}
          />
        </>
      )}
    </div>
  );
}

function OutputChoice({
  name,
  id,
  outputs,
  choose,
}: {
  name: string;
  id: string;
  outputs: readonly Device[];
  choose(id: string): void;
}) {
  return (
    <label class="field">
      {name}
      <select value={id} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{words.defaultOutput}</option>
        {outputs
          .filter((output) => output.id !== '')
          .map((output) => (
            <option key={output.id} value={output.id}>
              {output.label}
            </option>
          ))}
      </select>
    </label>
  );
}

function change({ settings, sound }: Desk, listening: Settings['listening']): void {
  settings.change({ listening });
  const { selectedOutput, unselectedOutput } = settings.settings.peek();
  const isOwn = listening === 'outputs';
  // NotFoundError: the device was unplugged. Its talkgroups stay on the output before.
  sound.setOutput('selected', isOwn ? selectedOutput : '').catch(() => {});
  sound.setOutput('unselected', isOwn ? unselectedOutput : '').catch(() => {});
}
