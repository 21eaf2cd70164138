// Shows where talkgroups are heard.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { listOutputs } from '../sound/outputs.js';
import { shell } from './texts.js';

const { outputs: words } = shell;

type Outputs = readonly { id: string; label: string }[];

export function OutputsLine({ desk }: { desk: Desk }) {
  const { listening, selectedOutput, unselectedOutput } = desk.settings.settings.value;
  const outputs = useOutputs();
  if (listening === 'both') {
    return (
      <div class="outputs quiet">
        <p>
          <Icon name="headphones" />
          {words.all}
        </p>
      </div>
    );
  }
  const where = (side: string, id: string) => (listening === 'sides' ? side : labelOf(outputs.value, id));
  return (
    <div class="outputs quiet">
      <p>
        <Icon name="headphones" />
        <span class="line name">{words.selected(where(words.left, selectedOutput))}</span>
      </p>
      <p>
        <Icon name="volume-2" />
        <span class="line name">{words.others(where(words.right, unselectedOutput))}</span>
      </p>
    </div>
  );
}

function useOutputs(): Signal<Outputs> {
  const outputs = useSignal<Outputs>([]);
  useEffect(() => {
    const read = () =>
      void listOutputs().then((found) => {
        outputs.value = found;
      });
    read();
    navigator.mediaDevices?.addEventListener('devicechange', read);
    return () => navigator.mediaDevices?.removeEventListener('devicechange', read);
  }, [outputs]);
  return outputs;
}

const labelOf = (outputs: Outputs, id: string) =>
  outputs.find((one) => one.id === id)?.label || words.byDefault; // a label is empty before the microphone was allowed
