// The forms beside the table of talkgroups: a new one, the encryption of one, and its recording.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { CreationFrame, Frame } from './frame.js';
import type { Row } from './list.js';
import { focusAtOnce, Said, textIn } from './parts.js';
import type { Encryption, FloorMode, Talkgroup } from './rows.js';
import type { Protection, Talkgroups } from './talkgroups.js';
import { texts } from './texts.js';

export function TalkgroupCreation({ talkgroups, onClose }: { talkgroups: Talkgroups; onClose(): void }) {
  const create = (data: FormData) => {
    const floorMode = textIn(data, 'floor_mode') as FloorMode; // an option of the field
    return talkgroups.create({ name: textIn(data, 'name'), floorMode, ...protectionIn(data) });
  };
  return (
    <CreationFrame
      title={texts.newTalkgroup}
      submit={texts.createTalkgroup}
      action={talkgroups.creation}
      {...{ create, onClose }}
    >
      <label class="field">
        {texts.newName}
        <input name="name" required autocomplete="off" ref={focusAtOnce} />
      </label>
      <label class="field">
        {texts.floorMode}
        <select name="floor_mode">
          {Object.entries(texts.floorModes).map(([mode, words]) => (
            <option key={mode} value={mode}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <ProtectionFields encryption="allowed" mayEmergencyBeClear={true} />
    </CreationFrame>
  );
}

type ChangeProps = { row: Row<Talkgroup>; talkgroups: Talkgroups; onClose(): void };

export function TalkgroupProtection(props: ChangeProps) {
  const { row, talkgroups } = props;
  const { name, encryption, clear_emergency } = row.item.value;
  return (
    <ChangeFrame
      {...props}
      title={texts.encryptionOf(name)}
      label={texts.encryption}
      change={(data) => talkgroups.protect(row, protectionIn(data))}
    >
      <ProtectionFields {...{ encryption, mayEmergencyBeClear: clear_emergency }} isFirst={true} />
      <p class="quiet">{texts.requiredHint}</p>
    </ChangeFrame>
  );
}

export function TalkgroupRecording(props: ChangeProps) {
  const { row, talkgroups } = props;
  const { name, recording_days } = row.item.value;
  // As it was when the form was opened.
  const [days] = useState(recording_days);
  return (
    <ChangeFrame
      {...props}
      title={texts.recordingOf(name)}
      label={texts.recording}
      change={(data) => talkgroups.record(row, Number(textIn(data, 'recording_days')))}
    >
      <label class="field">
        {texts.recording}
        <input
          name="recording_days"
          type="number"
          min="0"
          max="3650"
          required
          aria-describedby="recording-hints"
          defaultValue={String(days)}
          ref={focusAtOnce}
        />
      </label>
      <div id="recording-hints" class="quiet">
        {texts.recordingHints.map((hint) => (
          <p key={hint}>{hint}</p>
        ))}
      </div>
    </ChangeFrame>
  );
}

/** The panel with a form that changes settings of the talkgroup. It closes when they are stored. */
function ChangeFrame({
  title,
  label,
  row,
  talkgroups: { table },
  change,
  onClose,
  children,
}: ChangeProps & {
  title: string;
  /** Accessible name of the form. */
  label: string;
  change(data: FormData): Promise<boolean>;
  children: ComponentChildren;
}) {
  const save = async (form: HTMLFormElement) => {
    table.acted.value = null; // said in the form
    if (!(await change(new FormData(form)))) return;
    table.acted.value = row;
    onClose();
  };
  return (
    <Frame title={title} onClose={onClose}>
      <form
        class="admin-form"
        aria-label={label}
        onSubmit={(event) => {
          event.preventDefault();
          if (!row.action.isBusy.peek()) void save(event.currentTarget);
        }}
      >
        {children}
        <button type="submit" class="primary" aria-disabled={row.action.isBusy.value}>
          {texts.save}
        </button>
        <Said action={row.action} />
      </form>
    </Frame>
  );
}

function ProtectionFields({ isFirst = false, ...now }: Protection & { isFirst?: boolean }) {
  // As it was when the form was opened: what others change meanwhile does not change what is chosen.
  const [{ encryption, mayEmergencyBeClear }] = useState(now);
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
