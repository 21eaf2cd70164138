// Shows one talkgroup: who talks, its state and its controls. Nothing is said by colour alone.

import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { TalkKey } from '../talk/key.js';
import { EncryptButton, TalkgroupLock } from './lock.js';
import type { Tile } from './state.js';
import { Last, Talkers } from './talkers.js';

const { talkgroups: words } = texts;
const { short } = words;

type Props = { tile: Tile; desk: Desk };

export function TileView({ tile, desk }: Props) {
  const { id, name, talkers, online, floorMode } = tile.view.value;
  const isAlarm = desk.alarms.open.value.some(({ talkgroup_id }) => talkgroup_id === id);
  const looks = [
    tile.isSelected.value && 'selected',
    talkers.length > 0 && 'talking',
    isAlarm && 'alarm',
  ].filter(Boolean);
  return (
    <li>
      {/* biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own */}
      <div role="group" aria-label={name} data-talkgroup={id} class={`tile card ${looks.join(' ')}`}>
        <h3 class="name">
          <bdi>{name}</bdi>
        </h3>
        <div class="facts quiet">
          <span>{words.mode[floorMode]}</span>
          <span>{words.online(online)}</span>
        </div>
        <div class="talkers">{talkers.length > 0 ? <Talkers tile={tile} /> : <Last tile={tile} />}</div>
        <TalkgroupLock tile={tile} desk={desk} />
        <Loss tile={tile} />
        <Controls tile={tile} desk={desk} />
      </div>
    </li>
  );
}

/** Loss is shown as the relay counts it, until the page is loaded again. */
function Loss({ tile }: { tile: Tile }) {
  const { missed, lostBetweenNodes, name } = tile.view.value;
  return (
    <>
      {missed > 0 && (
        <p class="loss name">
          <Phrase say={(shown = '') => words.missed(missed, shown)} names={[name]} />
        </p>
      )}
      {lostBetweenNodes > 0 && <p class="loss">{words.lost(lostBetweenNodes)}</p>}
    </>
  );
}

function Controls({ tile, desk }: Props) {
  const { talking, talkgroups, membersOf } = desk;
  const { name } = tile.view.value;
  const shown = talking.shown.value.get(tile.id);
  return (
    <>
      <div class="controls">
        <TalkKey
          talking={talking}
          id={`talk-state-${tile.id}`}
          name={words.talk(name)}
          text={short.talk}
          targets={[tile.id]}
          shown={shown === undefined ? [] : [shown]}
        />
        <Toggle
          name={words.mute(name)}
          text={short.mute}
          isOn={tile.isMuted.value}
          change={(isOn) => talkgroups.mute(tile, isOn)}
        />
        <Toggle
          name={words.select(name)}
          text={short.select}
          isOn={tile.isSelected.value}
          change={(isOn) => talkgroups.select(tile, isOn)}
        />
      </div>
      <label class="volume">
        <span aria-hidden="true">{short.volume}</span>
        <input
          type="range"
          aria-label={words.volume(name)}
          min={0}
          max={100}
          value={Math.round(tile.volume.value * 100)}
          onInput={(event) => talkgroups.setVolume(tile, event.currentTarget.valueAsNumber / 100)}
        />
      </label>
      <div class="row">
        <button
          type="button"
          aria-label={words.members(name)}
          onClick={() => {
            membersOf.value = tile.id;
          }}
        >
          {words.short.members}
        </button>
        <EncryptButton tile={tile} desk={desk} />
      </div>
    </>
  );
}

type ToggleProps = { name: string; text: string; isOn: boolean; change(isOn: boolean): void };

function Toggle({ name, text, isOn, change }: ToggleProps) {
  return (
    <button type="button" aria-label={name} aria-pressed={isOn} onClick={() => change(!isOn)}>
      {text}
    </button>
  );
}
