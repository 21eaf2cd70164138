// Begins the console: shows the login form, or continues the session from before a reload.
import { render } from 'preact';
import { SETUP_HASH } from '../../client/setup-link.js';
import { Login } from '../login/view.js';
import { followTheme } from '../settings/page-look.js';
import { createSettings } from '../settings/state.js';
import { withStylesheet } from '../stylesheets.js';
import { Lazy } from './lazy.js';
import { account, restoreSession } from './session.js';

const loadSetup = () => import('../setup/page.js');
const loadShell = () => withStylesheet('shell/desk.css', import('../shell/shell.js'));

/** A link with a setup code, also in a tab that is logged in. */
const isSetup = () => location.hash.startsWith(SETUP_HASH);

function App() {
  if (isSetup()) return <Lazy load={loadSetup} />;
  return account.value === null ? <Login /> : <Lazy load={loadShell} />;
}

// The link may be pasted into a tab that has the console.
addEventListener('hashchange', () => isSetup() && location.reload());
followTheme(createSettings(localStorage).settings);
restoreSession();
const root = document.getElementById('console');
if (root !== null) render(<App />, root);
