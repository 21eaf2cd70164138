// Shows the talkgroups of the user as tiles.
import { desk } from '../app/desk.js';
import { account } from '../app/session.js';
import { texts } from '../app/texts.js';
import { TileView } from './tile.js';

const { talkgroups: words } = texts;

export default function Talkgroups() {
  const now = desk.value;
  if (now === null) return null;
  const tiles = now.talkgroups.tiles.value;
  return (
    <section aria-labelledby="talkgroups">
      <h2 id="talkgroups" class="visually-hidden">
        {words.label}
      </h2>
      {tiles.length === 0 && now.connection.value.state === 'open' && (
        <p class="quiet">{account.value?.role === 'admin' ? words.noneForAdmin : words.none}</p>
      )}
      <ul class="tiles">
        {tiles.map((tile) => (
          <TileView key={tile.id} tile={tile} desk={now} />
        ))}
      </ul>
    </section>
  );
}
