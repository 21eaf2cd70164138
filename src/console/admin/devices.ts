// Lists devices, renames them, and turns them on and off.
import { type Rest, storedBy } from '../../client/rest.js';
import type { Row } from './list.js';
import type { Device, Page } from './rows.js';
import { createTable, type Table } from './table.js';
import { texts } from './texts.js';

export interface Devices {
  readonly table: Table<Device>;
  change(row: Row<Device>, wanted: { name: string } | { site: string }): Promise<boolean>;
  setActive(row: Row<Device>, active: boolean): Promise<boolean>;
}

export function createDevices(rest: Rest): Devices {
  return {
    table: createTable<Device>({
      sort: 'name',
      idOf: ({ id }) => id,
      async read(query) {
        const { devices: items, next } = await rest.get<Page<'devices', Device>>(`/devices${query}`);
        return { items, next };
      },
    }),
    change: (row, wanted) =>
      row.action.run(async () => {
        const answer = await storedBy(rest.patch<{ device: Device }>(`/devices/${row.id}`, wanted));
        row.item.value = answer?.device ?? { ...row.item.peek(), ...wanted };
        return answer === null ? texts.unconfirmed : texts.saved;
      }),
    setActive: (row, active) =>
      row.action.run(async () => {
        const answer = await storedBy(rest.patch(`/devices/${row.id}/status`, { active }));
        row.item.value = { ...row.item.peek(), active };
        return answer === null ? texts.unconfirmed : null;
      }),
  };
}
