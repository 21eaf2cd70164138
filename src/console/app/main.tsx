// Begins the console: shows the login form, or continues the session from before a reload.
import { render } from 'preact';
import { Login } from '../login/view.js';
import { followTheme } from '../settings/page-look.js';
import { createSettings } from '../settings/state.js';
import { withStylesheet } from '../stylesheets.js';
import { Lazy } from './lazy.js';
import { account, restoreSession } from './session.js';

const loadShell = () => withStylesheet('shell/desk.css', import('../shell/shell.js'));

function App() {
  return account.value === null ? <Login /> : <Lazy load={loadShell} />;
}

followTheme(createSettings(localStorage).settings);
restoreSession();
const root = document.getElementById('console');
if (root !== null) render(<App />, root);
