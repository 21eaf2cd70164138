// Shows all talkgroups. Name, mode and talk limit are edited in the row.
import { ask } from '../dialogs/state.js';
import { Menu } from '../menu/menu.js';
import { EditCell } from './edit-cell.js';
import type { Row } from './list.js';
import { MembersFrame } from './members-view.js';
import { focusSoon } from './parts.js';
import type { FloorMode, Talkgroup } from './rows.js';
import { type Column, focusRow, TableView } from './table-view.js';
import { TalkgroupCreation, TalkgroupProtection, TalkgroupRecording } from './talkgroup-forms.js';
import type { Talkgroups } from './talkgroups.js';
import { texts } from './texts.js';

const { columns: titles } = texts;

type Props = {
  talkgroups: Talkgroups;
  /** false: a dispatcher, who changes the members alone. */
  isAdmin: boolean;
};

export function TalkgroupsTable({ talkgroups, isAdmin }: Props) {
  const { table } = talkgroups;
  const mayEdit = isAdmin;
  const columns: Column<Talkgroup>[] = [
    {
      key: 'number',
      title: titles.number,
      isNumber: true,
      cell: (row) => row.item.value.number,
    },
    {
      key: 'name',
      title: titles.name,
      isName: true,
      isControl: true,
      cell: (row) => (
        <EditCell
          {...{ table, row, mayEdit, ...namesOf(row), column: 'name', title: titles.name, isFirst: true }}
          value={row.item.value.name}
          save={(name) => talkgroups.rename(row, name)}
        />
      ),
    },
    {
      key: 'floor_mode',
      title: titles.mode,
      isControl: true,
      cell: (row) => (
        <EditCell
          {...{ table, row, mayEdit, column: 'floor_mode', title: titles.mode, choices: texts.floorModes }}
          name={row.item.value.name}
          text={row.item.value.floor_mode}
          value={row.item.value.floor_mode}
          save={(mode) => talkgroups.changeMode(row, mode as FloorMode)} // one of the choices
        />
      ),
    },
    {
      key: 'max_talk_ms',
      title: titles.limit,
      isControl: true,
      isNumber: true,
      cell: (row) => (
        <EditCell
          {...{
            table,
            row,
            mayEdit,
            column: 'max_talk_ms',
            title: titles.limit,
            hint: texts.talkLimit,
            isNumber: true,
          }}
          name={row.item.value.name}
          text={texts.limit(row.item.value)}
          value={String(row.item.value.max_talk_ms / 1000)}
          save={(seconds) => talkgroups.changeLimit(row, Number(seconds))}
        />
      ),
    },
    {
      key: 'encryption',
      title: titles.encryption,
      cell: (row) => texts.protection(row.item.value),
    },
    { key: 'members', title: titles.members, isNumber: true, cell: (row) => row.item.value.members },
  ];
  return (
    <TableView
      section="talkgroups"
      {...{ table, columns }}
      nameOf={(row) => row.item.value.name}
      actions={(row) => <Actions {...{ row, talkgroups, isAdmin }} />}
    />
  );
}

const namesOf = (row: Row<Talkgroup>) => ({ name: row.item.value.name, text: row.item.value.name });

function Actions({ row, talkgroups, isAdmin }: Props & { row: Row<Talkgroup> }) {
  const { table } = talkgroups;
  const { name } = row.item.value;
  const open = (kind: 'members' | 'encryption' | 'recording') => () => {
    table.side.value = { kind, row };
  };
  const rename = () => {
    row.action.outcome.value = null;
    table.editing.value = { id: row.id, column: 'name' };
  };
  const rotate = async () => {
    if (!(await ask(texts.reallyRotate(name)))) return;
    table.acted.value = row;
    await talkgroups.rotate(row);
  };
  const remove = async () => {
    if (!(await ask(texts.reallyDelete(row.item.peek())))) return;
    table.acted.value = row;
    const mayForget = () => ask(texts.reallyForget(name));
    if (await talkgroups.remove(row, mayForget)) focusRow(table.remove(row));
  };
  const members = { text: texts.manageMembers, onPress: open('members') };
  const items = [
    { text: texts.rename, onPress: rename },
    members,
    { text: texts.changeEncryption, onPress: open('encryption') },
    { text: texts.changeRecording, onPress: open('recording') },
    { text: texts.rotate, onPress: () => void rotate() },
    { text: texts.remove, onPress: () => void remove() },
  ];
  return <Menu name={texts.actionsFor(name)} class="admin-icon" items={isAdmin ? items : [members]} />;
}

/** The form of a new talkgroup, the members of one, its encryption or its recording. */
export function TalkgroupSide({ talkgroups }: { talkgroups: Talkgroups }) {
  const side = talkgroups.table.side.value;
  if (side === null) return null;
  const close = () => {
    talkgroups.table.side.value = null;
    if (side.kind === 'new') focusSoon('admin-new');
    else focusRow(side.row.id);
  };
  if (side.kind === 'new') return <TalkgroupCreation talkgroups={talkgroups} onClose={close} />;
  const { row } = side;
  if (side.kind === 'encryption')
    return <TalkgroupProtection key={row.id} row={row} talkgroups={talkgroups} onClose={close} />;
  if (side.kind === 'recording')
    return <TalkgroupRecording key={row.id} row={row} talkgroups={talkgroups} onClose={close} />;
  return <MembersFrame key={row.id} row={row} talkgroups={talkgroups} onClose={close} />;
}
