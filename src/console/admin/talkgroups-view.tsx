// Shows all talkgroups, and the forms that create, change and delete them.
import type { Panel as OpenPanel, Row } from './list.js';
import { MembersView } from './members-view.js';
import { ActionButton, focusAtOnce, focusSoon, ListView, Panel, Said, textIn } from './parts.js';
import type { Encryption, FloorMode, Talkgroup } from './rows.js';
import type { Protection, Talkgroups } from './talkgroups.js';
import { texts } from './texts.js';

export function TalkgroupsView({ talkgroups }: { talkgroups: Talkgroups }) {
  talkgroups.list.open();
  return (
    <section class="admin-section" aria-labelledby="admin-talkgroups">
      <h2 id="admin-talkgroups">{texts.talkgroups}</h2>
      <Creation talkgroups={talkgroups} />
      <ListView
        list={talkgroups.list}
        label={texts.talkgroups}
        render={(row) => <TalkgroupRow key={row.id} row={row} talkgroups={talkgroups} />}
      />
    </section>
  );
}

function Creation({ talkgroups }: { talkgroups: Talkgroups }) {
  const create = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const floorMode = textIn(data, 'floor_mode') as FloorMode;
    const wanted = { name: textIn(data, 'name'), floorMode, ...protectionIn(data) };
    if (await talkgroups.create(wanted)) form.reset();
  };
  return (
    <form
      class="card admin-creation"
      onSubmit={(event) => {
        event.preventDefault();
        void create(event.currentTarget);
      }}
    >
      <label class="field">
        {texts.newName}
        <input id="admin-talkgroups-name" name="name" required autocomplete="off" />
      </label>
      <FloorModes value="open" />
      <ProtectionFields encryption="allowed" mayEmergencyBeClear={true} />
      <button type="submit" class="primary" aria-disabled={talkgroups.creation.isBusy.value}>
        {texts.createTalkgroup}
      </button>
      <Said action={talkgroups.creation} />
    </form>
  );
}

/** The value of an option is one of the floor modes, so what a form sends is one. */
function FloorModes({ value }: { value: FloorMode }) {
  return (
    <label class="field">
      {texts.floorMode}
      <select name="floor_mode">
        {Object.entries(texts.floorModes).map(([mode, words]) => (
          <option key={mode} value={mode} selected={mode === value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function ProtectionFields({
  encryption,
  mayEmergencyBeClear,
  isFirst = false,
}: Protection & { isFirst?: boolean }) {
  return (
    <>
      <label class="field">
        {texts.encryption}
        <select name="encryption" {...(isFirst && { ref: focusAtOnce })}>
          {Object.entries(texts.encryptions).map(([value, words]) => (
            <option key={value} value={value} selected={value === encryption}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        {texts.clearEmergency}
        <select name="clear_emergency">
          <option value="yes" selected={mayEmergencyBeClear}>
            {texts.clearYes}
          </option>
          <option value="no" selected={!mayEmergencyBeClear}>
            {texts.clearNo}
          </option>
        </select>
      </label>
    </>
  );
}

const protectionIn = (data: FormData): Protection => ({
  encryption: textIn(data, 'encryption') as Encryption, // an option of ProtectionFields
  mayEmergencyBeClear: textIn(data, 'clear_emergency') === 'yes',
});

function TalkgroupRow({ row, talkgroups }: { row: Row<Talkgroup>; talkgroups: Talkgroups }) {
  const item = row.item.value;
  const name = `talkgroup-${row.id}`;
  const toggle = (panel: OpenPanel) => {
    row.panel.value = row.panel.value === panel ? null : panel;
  };
  const opener = (panel: OpenPanel, label: string, kind: '' | 'danger' = '') => (
    <ActionButton
      id={`${name}-${panel}`}
      action={row.action}
      label={label}
      describedBy={name}
      kind={kind}
      isOpen={row.panel.value === panel}
      onPress={() => toggle(panel)}
    />
  );
  return (
    <article class="card admin-row" aria-labelledby={name}>
      <h3 id={name} class="name">
        {item.name}
      </h3>
      <p class="quiet">
        {[texts.number(item.number), item.floor_mode, texts.limit(item), texts.members(item.members)].join(
          ', ',
        )}
        , {texts.counter(item.rotation_counter)}, {texts.created(item.created_at)}
      </p>
      <p class="quiet">{texts.protection(item)}</p>
      <div class="row">
        {opener('rename', texts.rename)}
        {opener('settings', texts.settings)}
        {opener('encryption', texts.encryption)}
        {opener('members', texts.manageMembers)}
        <ActionButton
          action={row.action}
          label={texts.rotate}
          describedBy={name}
          onPress={() => void talkgroups.rotate(row)}
        />
        {opener('delete', texts.remove, 'danger')}
      </div>
      <OpenedPanel row={row} talkgroups={talkgroups} />
      <Said action={row.action} />
    </article>
  );
}

function OpenedPanel({ row, talkgroups }: { row: Row<Talkgroup>; talkgroups: Talkgroups }) {
  const item = row.item.value;
  const panel = row.panel.value;
  const close = () => {
    row.panel.value = null;
    focusSoon(`talkgroup-${row.id}-${panel}`);
  };
  const closeWhenDone = async (work: Promise<boolean>) => {
    if (await work) close();
  };
  if (panel === 'rename') {
    return (
      <Panel
        label={texts.rename}
        submit={texts.save}
        action={row.action}
        onSubmit={(data) => void closeWhenDone(talkgroups.rename(row, textIn(data, 'name')))}
        onClose={close}
      >
        <label class="field">
          {texts.renameTo}
          <input name="name" required autocomplete="off" defaultValue={item.name} ref={focusAtOnce} />
        </label>
      </Panel>
    );
  }
  if (panel === 'settings') {
    const save = (data: FormData) => {
      const floorMode = textIn(data, 'floor_mode') as FloorMode; // an option of FloorModes
      const wanted = { floorMode, talkLimitS: Number(textIn(data, 'limit')) };
      void closeWhenDone(talkgroups.change(row, wanted));
    };
    return (
      <Panel label={texts.settings} submit={texts.save} action={row.action} onSubmit={save} onClose={close}>
        <FloorModes value={item.floor_mode} />
        <label class="field">
          {texts.talkLimit}
          <input
            name="limit"
            type="number"
            min="0"
            max="3600"
            step="any"
            required
            defaultValue={String(item.max_talk_ms / 1000)}
            ref={focusAtOnce}
          />
        </label>
      </Panel>
    );
  }
  if (panel === 'encryption') {
    return (
      <Panel
        label={texts.encryption}
        submit={texts.save}
        action={row.action}
        onSubmit={(data) => void closeWhenDone(talkgroups.protect(row, protectionIn(data)))}
        onClose={close}
      >
        <ProtectionFields
          {...{ encryption: item.encryption, mayEmergencyBeClear: item.clear_emergency }}
          isFirst={true}
        />
        <p class="quiet">{texts.requiredHint}</p>
      </Panel>
    );
  }
  if (panel === 'members') {
    return <MembersView members={talkgroups.membersOf(row)} id={row.id} name={item.name} onClose={close} />;
  }
  if (panel === 'delete') return <Deletion row={row} talkgroups={talkgroups} onClose={close} />;
  return null;
}

function Deletion({
  row,
  talkgroups,
  onClose,
}: {
  row: Row<Talkgroup>;
  talkgroups: Talkgroups;
  onClose: () => void;
}) {
  const remove = async () => {
    if (await talkgroups.remove(row)) focusSoon('admin-talkgroups-name');
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div class="admin-panel" role="group" aria-label={texts.remove}>
      <p>{texts.reallyDelete(row.item.value)}</p>
      <div class="row">
        <button type="button" ref={focusAtOnce} onClick={onClose}>
          {texts.keep}
        </button>
        <ActionButton
          action={row.action}
          label={texts.deleteNow}
          kind="danger"
          onPress={() => void remove()}
        />
      </div>
    </div>
  );
}
