// Chooses where talkgroups are heard: both ears, left and right, or two outputs.
import { type Signal, signal } from '@preact/signals';
import type { Desk } from '../app/desk.js';
import type { Settings } from './state.js';
import { settings as words } from './texts.js';

const ways = ['both', 'sides', 'outputs'] as const;

type Output = { id: string; label: string };

/** null: not asked for yet. Empty: this browser plays on one output only. */
const outputs: Signal<readonly Output[] | null> = signal(null);

export function Listening({ desk }: { desk: Desk }) {
  const { settings, sound } = desk;
  const now = settings.settings.value;
  if (outputs.value === null) askForOutputs(desk);
  const shown = ways.filter((way) => way !== 'outputs' || (outputs.value?.length ?? 0) > 0);
  const choose = (which: 'selected' | 'unselected', id: string) => {
    settings.change(which === 'selected' ? { selectedOutput: id } : { unselectedOutput: id });
    sound.setOutput(which, id).catch(() => askForOutputs(desk)); // NotFoundError: the device was unplugged
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
            choose={(id) => choose('selected', id)}
          />
          <OutputChoice
            name={words.unselectedOutput}
            id={now.unselectedOutput}
            choose={(id) => choose('unselected', id)}
          />
        </>
      )}
    </div>
  );
}

function OutputChoice({ name, id, choose }: { name: string; id: string; choose(id: string): void }) {
  return (
    <label class="field">
      {name}
      <select value={id} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{words.defaultOutput}</option>
        {outputs.value
          ?.filter((output) => output.id !== '')
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

function askForOutputs({ sound }: Desk): void {
  sound.outputs().then(
    (found) => {
      outputs.value = found;
    },
    () => {
      outputs.value = []; // NotAllowedError: the browser lists none without a permission
    },
  );
}
