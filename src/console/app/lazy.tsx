// Shows a view of which the code is loaded when it is first shown.
import { type Signal, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { firstTexts as texts } from './first-texts.js';

type Loader = () => Promise<{ default: ComponentType }>;
type Loaded = ComponentType | 'failed' | null;

const views = new Map<Loader, Signal<Loaded>>();

/** `load` must be the same function at each rendering. */
export function Lazy({ load }: { load: Loader }) {
  const view = views.get(load) ?? begin(load, signal<Loaded>(null));
  const View = view.value;
  if (View === null) return <p class="quiet panel">{texts.loading}</p>;
  if (View !== 'failed') return <View />;
  return (
    <div class="panel" role="alert">
      <p>{texts.notLoaded}</p>
      <button type="button" onClick={() => begin(load, view)}>
        {texts.tryAgain}
      </button>
    </div>
  );
}

function begin(load: Loader, view: Signal<Loaded>): Signal<Loaded> {
  views.set(load, view);
  load().then(
    (module) => {
      view.value = module.default;
    },
    // TypeError: the network failed, or a newer version of the console has other file names.
    () => {
      view.value = 'failed';
    },
  );
  return view;
}
