// Begins the console: shows the login form, or continues the session from before a reload.
import { render } from 'preact';
import { Login } from '../login/view.js';
import { Lazy } from './lazy.js';
import { account, restoreSession } from './session.js';

const loadShell = () => import('../shell/shell.js');

function App() {
  return account.value === null ? <Login /> : <Lazy load={loadShell} />;
}

restoreSession();
const root = document.getElementById('console');
if (root !== null) render(<App />, root);
