// Keeps the account that is logged in, and its token for a reload of this tab.
import { type Signal, signal } from '@preact/signals';
import { callRest, createRest, type Rest, type RestError, storedBy } from '../../client/rest.js';
import { readClaims } from './token.js';

export type Account = {
  token: string;
  username: string;
  userId: string;
  role: 'admin' | 'user';
  /** Dispatcher or administrator. Each connection reads who is a dispatcher. */
  mayDispatch: Signal<boolean>;
  rest: Rest;
};

/** Why the login form is shown again. */
export type LoggedOut = 'by_user' | 'everywhere' | 'invalid token' | 'unknown user';

/** null: the login form is shown. */
export const account: Signal<Account | null> = signal(null);

/** Why the last session of this tab ended. null: there was none. */
export const loggedOut: Signal<LoggedOut | null> = signal(null);

// Of sessionStorage, which ends with the tab: tokens have no expiry (docs/security.md).
const TOKEN = 'talkgroup.token';
const LOGGED_OUT = 'talkgroup.logged-out';

/** Continues the session from before a reload of this tab. */
export function restoreSession(): void {
  const reason = sessionStorage.getItem(LOGGED_OUT);
  sessionStorage.removeItem(LOGGED_OUT);
  loggedOut.value = reason as LoggedOut | null; // written by `logOut` alone
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null) open(token);
}

/** Rejects with RestError. */
export async function logIn(username: string, password: string): Promise<void> {
  const body = { username, password };
  const { jwt } = await callRest<{ jwt: string }>({ method: 'POST', path: '/auth/login', body });
  keepToken(jwt);
  open(jwt);
}

/** For the next load of this tab. */
export const keepToken = (jwt: string) => sessionStorage.setItem(TOKEN, jwt);

/** Of a call that has a password in its body. The token is valid. */
const WRONG_PASSWORD = 'invalid_credentials';

let revoking = false;

/** The page loads anew, so that nothing of the account stays in memory. */
export function logOut(reason: LoggedOut): void {
  if (account.value === null) return;
  account.value = null;
  sessionStorage.removeItem(TOKEN);
  // The radio of this tab may be closed for its revoked token before the answer to the revocation comes.
  sessionStorage.setItem(LOGGED_OUT, revoking ? 'everywhere' : reason);
  location.reload();
}

/** Revokes all tokens of the account, in other tabs and on its phones too. Rejects with RestError. */
export async function logOutEverywhere(): Promise<void> {
  revoking = true;
  try {
    const current = account.value;
    if (current !== null) await storedBy(current.rest.post('/auth/revoke'));
  } finally {
    revoking = false;
  }
  logOut('everywhere');
}

function open(token: string): void {
  const claims = readClaims(token);
  if (claims === null) {
    sessionStorage.removeItem(TOKEN);
    return;
  }
  const onRejected = ({ status, code }: RestError) => {
    if (status === 401 && code !== WRONG_PASSWORD) logOut('invalid token');
  };
  const rest = createRest({ token, onRejected });
  account.value = { ...claims, token, rest, mayDispatch: signal(claims.role === 'admin') };
}
