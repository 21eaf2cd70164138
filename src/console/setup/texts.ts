// Holds the texts of setup codes: of the page that takes one, and of the card that makes one.
import { isolated } from '../app/isolated.js';

export const page = {
  heading: 'Set your password',
  code: 'Setup code',
  password: 'New password',
  showPassword: 'Show password',
  hint: 'The code is used up then. All radios and browsers of this account are logged out.',
  submit: 'Set the password and log in',
  login: 'Log in without the code',
  invalid: 'This code is not valid. It was used, it was replaced, or it has expired. Ask for another one.',
  disabled: 'The device of this account is disabled. An administrator can enable it.',
  tooMany: (s: number) => `Too many attempts. Try again in ${s} s.`,
  offline: 'No network. Nothing was changed.',
  unknown: 'The answer did not come. Try to log in with the new password.',
  stored: 'The password is set. Log in with it.',
  failed: (error: string) => `The password was not set: ${error}.`,
};

export const card = {
  open: 'Setup code…',
  hint: 'With it the user sets a password and is logged in. Until then nothing changes. It replaces the code before.',
  hours: 'Valid for hours',
  make: 'Make a code',
  code: (name: string) => `Setup code of ${isolated(name)}`,
  until: (when: string) => `Valid until ${when}`,
  picture: 'QR code with the link',
  copy: 'Copy the link',
  copied: 'The link is copied.',
  once: 'It is shown now and never again. Anyone with this code gets the account.',
};
