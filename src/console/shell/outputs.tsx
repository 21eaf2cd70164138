// Shows where talkgroups are heard, when that is not one place for all.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { desk as currentDesk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { listOutputs } from '../sound/outputs.js';
import { shell } from './texts.js';

const { outputs: words } = shell;

type Found = readonly { id: string; label: string }[];

export default function Outputs() {
  const desk = currentDesk.value;
  const outputs = useOutputs();
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

function useOutputs(): Signal<Found> {
  const outputs = useSignal<Found>([]);
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

const labelOf = (outputs: Found, id: string) =>
  outputs.find((one) => one.id === id)?.label || words.byDefault; // a label is empty before the microphone was allowed
