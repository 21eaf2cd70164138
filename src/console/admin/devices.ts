// Lists devices, renames them, and turns them on and off.
import type { Rest } from '../app/rest.js';
import { storedBy } from './failure.js';
import { createList, type List, type Row } from './list.js';
import { type Device, type Page, queryOf } from './rows.js';
import { texts } from './texts.js';

export interface Devices {
  readonly list: List<Device>;
  rename(row: Row<Device>, wanted: { name: string; site: string }): Promise<boolean>;
  setActive(row: Row<Device>, active: boolean): Promise<boolean>;
}

export function createDevices(rest: Rest): Devices {
  return {
    list: createList<Device>({
      async read({ after, limit }) {
        const path = `/devices${queryOf({ limit, after })}`;
        const { devices: items, next } = await rest.get<Page<'devices', Device>>(path);
        return { items, next };
      },
      idOf: ({ id }) => id,
      nameOf: ({ name }) => name,
    }),
    rename: (row, wanted) =>
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
