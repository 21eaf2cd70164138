// Holds the texts of setup codes: of the page that takes one, and of the card that makes one.
import { isolated } from '../app/isolated.js';

export const page = {
  heading: 'Set your password',
  code: 'Setup code',
  password: 'New password',
  hint: 'This uses up the code, and logs out all radios and browsers of the account.',
  submit: 'Set the password and log in',
  login: 'Log in without the code',
  invalid: 'This code is not valid. It was used, it was replaced, or it has expired. Ask for another one.',
  tooMany: (s: number) => `Too many attempts. Try again in ${s} s.`,
  unknown: 'The answer did not come. Log in with the new password, or try again.',
  busy: 'The service is busy. Nothing was changed. Try again.',
  stored: 'The password is set. Log in with it.',
  failed: (error: string) => `The password was not set: ${error}.`,
};

export const card = {
  open: 'Setup code…',
  hint: 'With the code the user sets a password. Until then nothing changes. A new code replaces the one before. A change of the device or a revocation ends it.',
  hours: 'Valid for (hours)',
  make: 'Make a code',
  code: (name: string) => `Setup code of ${isolated(name)}`,
  until: (when: string) => `Valid until ${when}`,
  picture: 'QR code with the link',
  copy: 'Copy the link',
  copied: 'The link is copied.',
  once: 'It is shown now and never again. Anyone with this code gets the account.',
};
