// Shows the key holders of one user with their fingerprints.
import { timeText } from '../app/time-of-day.js';
import { ask } from '../dialogs/state.js';
import type { Holders } from './holders.js';
import type { Row } from './list.js';
import { ActionButton, ListView, Said } from './parts.js';
import type { Holder } from './rows.js';
import { texts } from './texts.js';

/** `name` is that of the user. */
export function HoldersView({ holders, name }: { holders: Holders; name: string }) {
  holders.list.open();
  return (
    <>
      <p class="quiet">{texts.holderHint}</p>
      <Said action={holders.action} />
      <ListView
        list={holders.list}
        label={texts.holdersOf(name)}
        render={(row) => <HolderRow row={row} holders={holders} />}
      />
    </>
  );
}

function HolderRow({ row, holders }: { row: Row<Holder>; holders: Holders }) {
  const { name, fingerprint, accepted, created_at } = row.item.value;
  const { action } = holders;
  return (
    <div class="admin-holder">
      <p class="name">
        {name}, {texts.holderState(accepted)}, {texts.created(created_at, timeText)}
      </p>
      <code class="fingerprint">{fingerprint}</code>
      <div class="row">
        {!accepted && (
          <ActionButton
            action={action}
            label={texts.acceptHolder(name)}
            onPress={() => void holders.accept(row)}
          />
        )}
        <ActionButton
          action={action}
          label={texts.deleteHolder(name)}
          onPress={async () => {
            if (await ask(texts.reallyDeleteHolder(name))) await holders.remove(row);
          }}
        />
      </div>
    </div>
  );
}
