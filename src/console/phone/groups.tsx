// Lists the talkgroups: who talks in each, the favourites, mute, and a press that changes to it.
import { ageText, clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { show } from '../app/places.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { FavouriteButton } from '../talkgroups/favourite.js';
import { MuteButton } from '../talkgroups/mute.js';
import type { Tile } from '../talkgroups/state.js';
import type { Phone } from './state.js';
import { phone as own } from './texts.js';

const { talkgroups: words } = texts;

type GroupsProps = { desk: Desk; phone: Phone };

export function Groups({ desk, phone }: GroupsProps) {
  const tiles = phone.ring.tiles.value;
  return (
    <section aria-labelledby="talkgroups">
      <h2 id="talkgroups" class="visually-hidden">
        {words.label}
      </h2>
      {tiles.length === 0 && (
        <p class="quiet">{desk.account.role === 'admin' ? words.noneForAdmin : words.none}</p>
      )}
      <ul class="phone-groups">
        {tiles.map((tile) => (
          <Group key={tile.id} tile={tile} desk={desk} phone={phone} />
        ))}
      </ul>
    </section>
  );
}

function Group({ tile, desk, phone: { ring } }: GroupsProps & { tile: Tile }) {
  const { name, talkers } = tile.view.value;
  const isAlarm = desk.alarms.open.value.some(({ talkgroup_id }) => talkgroup_id === tile.id);
  return (
    <li>
      {/* biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own */}
      <div role="group" aria-label={name} data-talkgroup={tile.id} class={isAlarm ? 'alarm' : ''}>
        <button
          type="button"
          class="phone-group"
          aria-label={words.select(name)}
          aria-pressed={tile.isSelected.value}
          onClick={() => {
            if (ring.choose(tile)) show('talk');
          }}
        />
        <div class="phone-group-words">
          <span class="line name">
            {tile.isSelected.value && <Icon name="check" />}
            {isAlarm && <Icon name="triangle-alert" />}
            <bdi>{name}</bdi>
          </span>
          <span class="line name">{talkers.length > 0 ? <Talker tile={tile} /> : <Last tile={tile} />}</span>
        </div>
        <FavouriteButton tile={tile} desk={desk} />
        <MuteButton tile={tile} desk={desk} />
      </div>
    </li>
  );
}

/** The oldest, in a line. */
function Talker({ tile }: { tile: Tile }) {
  const [talker] = tile.view.value.talkers;
  if (talker === undefined) return null;
  const { isOwn, username, startedAtMs } = talker;
  return (
    <span class="phone-talks">
      <Icon name={isOwn ? 'radio' : 'audio-lines'} />
      {isOwn ? own.youTalk : <Phrase say={own.talking} names={[username]} />}{' '}
      {clockText(nowMs.value - startedAtMs)}
    </span>
  );
}

function Last({ tile }: { tile: Tile }) {
  const { last } = tile.view.value;
  if (last === null) return <span class="quiet">{words.quiet}</span>;
  const age = ageText(nowMs.value - last.endedAtMs);
  return (
    <span class="quiet">
      <Phrase say={(name = '') => own.last(name, age)} names={[last.username]} />
    </span>
  );
}
