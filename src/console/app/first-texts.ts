// Holds the texts that are loaded before the login: those of the login form, and of a view that is loaded later.

export const firstTexts = {
  title: 'Talkgroup Radio',
  loading: 'Loading',
  notLoaded: 'This view was not loaded.',
  tryAgain: 'Try again',

  login: {
    heading: 'Log in',
    username: 'Username',
    password: 'Password',
    submit: 'Log in',
    wrong: 'Wrong username or password.',
    disabled: 'The device of this account is disabled. An administrator can enable it.',
    tooMany: (s: number | null) => `Too many attempts. Try again ${s === null ? 'later' : `in ${s} s`}.`,
    offline: (s: number) => `No network. Trying again in ${s} s.`,
    offlineNow: 'No network. Trying again.',
    showPassword: 'Show password',
    failed: (error: string) => `The login failed: ${error}.`,
    insecure:
      'This page was opened over plain http from another machine, so it has no sound. You can watch, but not listen ' +
      'or talk. Ask the operator for the https address.',
    out: {
      by_user: 'You are logged out.',
      everywhere: 'You are logged out here and on every other device.',
      'invalid token': 'Your login is no longer valid. Log in again.',
      'unknown user': 'This account no longer exists.',
    },
  },
};
