// Shows the key holders of one user with their fingerprints.
import type { Holders } from './holders.js';
import type { Row } from './list.js';
import { ActionButton, focusAtOnce, ListView, Said } from './parts.js';
import type { Holder } from './rows.js';
import { texts } from './texts.js';

export function HoldersView({
  holders,
  name,
  onClose,
}: {
  holders: Holders;
  /** Of the user. */
  name: string;
  onClose: () => void;
}) {
  holders.list.open();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      class="admin-panel"
      role="group"
      aria-label={texts.holdersOf(name)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose();
      }}
    >
      <p class="quiet">{texts.holderHint}</p>
      <Said action={holders.action} />
      <ListView
        list={holders.list}
        label={texts.holdersOf(name)}
        render={(row) => <HolderRow row={row} holders={holders} />}
      />
      <div class="row">
        <button type="button" ref={focusAtOnce} onClick={onClose}>
          {texts.done}
        </button>
      </div>
    </div>
  );
}

function HolderRow({ row, holders }: { row: Row<Holder>; holders: Holders }) {
  const { name, fingerprint, accepted, created_at } = row.item.value;
  const { action } = holders;
  return (
    <div class="admin-row">
      <p class="name">
        {name}, {texts.holderState(accepted)}, {texts.created(created_at)}
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
          kind="danger"
          onPress={() => void holders.remove(row)}
        />
      </div>
    </div>
  );
}
