// The card of a user: role, device, and the browsers and radios that hold keys.
import { useEffect } from 'preact/hooks';
import { timeText } from '../app/time-of-day.js';
import { Frame } from './frame.js';
import { HoldersView } from './holders-view.js';
import type { Row } from './list.js';
import type { User } from './rows.js';
import { texts } from './texts.js';
import type { Users } from './users.js';

export function UserCard({ row, users, onClose }: { row: Row<User>; users: Users; onClose(): void }) {
  const { username, role, device_id, created_at } = row.item.value;
  useEffect(() => {
    if (device_id !== null) void users.showDevice(device_id);
  }, [device_id]);
  const device = device_id === null ? texts.noDevice : users.devices.value.get(device_id);
  return (
    <Frame title={username} label={texts.cardOf(username)} onClose={onClose}>
      <dl class="admin-facts">
        <dt>{texts.columns.role}</dt>
        <dd>{role === 'admin' ? texts.administrator : texts.user}</dd>
        <dt>{texts.columns.device}</dt>
        <dd>{device ?? texts.reading}</dd>
        <dt>{texts.columns.created}</dt>
        <dd>{texts.date(created_at, timeText)}</dd>
      </dl>
      <section class="admin-part" aria-labelledby="admin-holders">
        <h3 id="admin-holders">{texts.holders}</h3>
        <HoldersView holders={users.holdersOf(row)} name={username} />
      </section>
    </Frame>
  );
}
