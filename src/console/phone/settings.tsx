// The settings of this phone, and what a browser cannot do on it.
import { isPhone } from './layout.js';
import { ownChoices } from './own-choices.js';
import { phone } from './texts.js';

const { settings: words } = phone;

export function PhoneSettings() {
  if (!isPhone.value) return null;
  const { keepsScreenOn, isHeadsetOn, change } = ownChoices;
  return (
    <section aria-labelledby="settings-phone">
      <h3 id="settings-phone">{words.title}</h3>
      <div>
        <button
          type="button"
          aria-pressed={keepsScreenOn.value}
          onClick={() => change({ keepsScreenOn: !keepsScreenOn.value })}
        >
          {words.keepsScreenOn}
        </button>
        <p class="quiet">{words.keepsScreenOnHint}</p>
        <button
          type="button"
          aria-pressed={isHeadsetOn.value}
          onClick={() => change({ isHeadsetOn: !isHeadsetOn.value })}
        >
          {words.isHeadsetOn}
        </button>
        <p class="quiet">{words.isHeadsetOnHint}</p>
        <h4>{words.cannot}</h4>
        <ul>
          {words.limits.map((limit) => (
            <li key={limit}>{limit}</li>
          ))}
        </ul>
      </div>
    </section>
  );
}
