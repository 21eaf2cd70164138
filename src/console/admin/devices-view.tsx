// Shows devices: rename, site, enable and disable.
import type { Devices } from './devices.js';
import type { Row } from './list.js';
import { ActionButton, focusAtOnce, focusSoon, ListView, Panel, Said, textIn } from './parts.js';
import type { Device } from './rows.js';
import { texts } from './texts.js';

export function DevicesView({ devices }: { devices: Devices }) {
  devices.list.open();
  return (
    <section class="admin-section" aria-labelledby="admin-devices">
      <h2 id="admin-devices">{texts.devices}</h2>
      <ListView
        list={devices.list}
        label={texts.devices}
        render={(row) => <DeviceRow key={row.id} row={row} devices={devices} />}
      />
    </section>
  );
}

function DeviceRow({ row, devices }: { row: Row<Device>; devices: Devices }) {
  const device = row.item.value;
  const name = `device-${row.id}`;
  const button = `${name}-rename`;
  const isRenaming = row.panel.value === 'rename';
  const close = () => {
    row.panel.value = null;
    focusSoon(button);
  };
  const rename = async (data: FormData) => {
    const wanted = { name: textIn(data, 'name'), site: textIn(data, 'site') };
    if (await devices.rename(row, wanted)) close();
  };
  return (
    <article class="card admin-row" aria-labelledby={name}>
      <h3 id={name} class="name">
        {device.name}
      </h3>
      <p class="quiet name">
        {texts.facts(device)}, {texts.created(device.created_at)}
      </p>
      <p class={device.active ? 'quiet' : 'error'}>{device.active ? texts.enabled : texts.disabled}</p>
      <div class="row">
        <ActionButton
          id={button}
          action={row.action}
          label={texts.rename}
          describedBy={name}
          isOpen={isRenaming}
          onPress={() => {
            row.panel.value = isRenaming ? null : 'rename';
          }}
        />
        <ActionButton
          action={row.action}
          label={device.active ? texts.disable : texts.enable}
          describedBy={name}
          kind={device.active ? 'danger' : ''}
          onPress={() => void devices.setActive(row, !device.active)}
        />
      </div>
      {isRenaming && (
        <Panel
          label={texts.rename}
          submit={texts.save}
          action={row.action}
          onSubmit={(data) => void rename(data)}
          onClose={close}
        >
          <label class="field">
            {texts.renameTo}
            <input name="name" required autocomplete="off" defaultValue={device.name} ref={focusAtOnce} />
          </label>
          <label class="field">
            {texts.newSite}
            <input name="site" required autocomplete="off" defaultValue={device.site} />
          </label>
        </Panel>
      )}
      <Said action={row.action} />
    </article>
  );
}
