// Shows devices: name and site are edited in the row, and a device is disabled and enabled.
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import type { Devices } from './devices.js';
import { EditCell } from './edit-cell.js';
import type { Row } from './list.js';
import type { Device } from './rows.js';
import { type Column, TableView } from './table-view.js';
import { texts } from './texts.js';

const { columns: titles } = texts;

export function DevicesTable({ devices }: { devices: Devices }) {
  const { table } = devices;
  const edited = (column: 'name' | 'site', row: Row<Device>) => (
    <EditCell
      {...{ table, row, column }}
      isFirst={column === 'name'}
      title={titles[column]}
      name={row.item.value.name}
      text={row.item.value[column]}
      value={row.item.value[column]}
      save={(value) => devices.change(row, column === 'name' ? { name: value } : { site: value })}
    />
  );
  const columns: Column<Device>[] = [
    { key: 'name', title: titles.name, isName: true, isControl: true, cell: (row) => edited('name', row) },
    { key: 'serial', title: titles.serial, cell: (row) => <bdi>{row.item.value.serial}</bdi> },
    { key: 'site', title: titles.site, isControl: true, cell: (row) => edited('site', row) },
    {
      key: 'active',
      title: titles.state,
      cell: (row) =>
        row.item.value.active ? texts.enabled : <span class="admin-off">{texts.disabled}</span>,
    },
    { key: 'created_at', title: titles.created, cell: (row) => texts.day(row.item.value.created_at) },
  ];
  return (
    <TableView
      section="devices"
      {...{ table, columns }}
      nameOf={(row) => row.item.value.name}
      actions={(row) => <Actions row={row} devices={devices} />}
    />
  );
}

function Actions({ row, devices }: { row: Row<Device>; devices: Devices }) {
  const { table } = devices;
  const { name, active } = row.item.value;
  const edit = (column: string) => () => {
    row.action.outcome.value = null;
    table.editing.value = { id: row.id, column };
  };
  const setActive = async () => {
    if (active && !(await ask(texts.reallyDisable(name)))) return;
    table.acted.value = row;
    await devices.setActive(row, !active);
  };
  const items = [
    { text: texts.rename, onPress: edit('name') },
    { text: texts.changeSite, onPress: edit('site') },
    { text: active ? texts.disable : texts.enable, onPress: () => void setActive() },
  ];
  return <Menu name={texts.actionsFor(name)} class="admin-icon" items={items} />;
}
