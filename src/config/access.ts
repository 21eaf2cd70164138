// Declares the settings of keys, accounts and login protection.
import { Type } from '../typebox.js';
import { MANY, settingsOf } from './setting.js';

const keys = settingsOf('Keys and accounts');
const login = settingsOf('Login protection');

const TOO_MANY_WRONG = 'The service answers 429 with `Retry-After` and does not hash the password.';

export const accountSettings = {
  JWT_SECRET: Type.Optional(
    keys.text({
      level: 'basic',
      unit: 'key',
      secret: true,
      description: 'Key that signs the tokens.',
      must: 'be at least 32 bytes and no well-known or repeated text',
      notes: 'Generate one with `openssl rand -base64 32`.',
      unset:
        'The service generates a key and stores it in `DATA_DIR/jwt.secret` (mode 0600). With `DATABASE_URL` it exits.',
    }),
  ),
  JWT_SECRET_PREVIOUS: Type.Optional(
    keys.text({
      level: 'basic',
      unit: 'key',
      secret: true,
      description: 'Second key that the service accepts in tokens, for a rotation of `JWT_SECRET`.',
      must: 'be at least 32 bytes and no well-known or repeated text',
      notes: 'It must differ from `JWT_SECRET`. The service signs no token with it.',
      unset: 'The service accepts only tokens of `JWT_SECRET`.',
    }),
  ),
  SECRETS_KEY: Type.Optional(
    keys.text({
      level: 'basic',
      unit: 'comma-separated keys',
      secret: true,
      description: 'Keys that encrypt the master secrets of the talkgroups in the database.',
      must: 'be a comma-separated list of different random keys, each 32 bytes in base64 or hexadecimal',
      notes: 'The first key encrypts. All keys decrypt.',
      unset: 'New master secrets are stored unencrypted.',
    }),
  ),
  ADMIN_USERNAME: keys.text({
    level: 'basic',
    unit: 'username',
    default: 'admin',
    description: 'Name of the admin account that the service creates at start when it does not exist.',
    must: 'be 1 to 64 characters without control characters',
    notes:
      'An existing admin keeps the password. It cannot be registered. When a plain user has this name, the service exits instead.',
  }),
  ADMIN_PASSWORD: Type.Optional(
    keys.text({
      level: 'basic',
      unit: 'password',
      secret: true,
      description: 'Password of the admin account that the service creates.',
      must: 'be 1 to 72 bytes without NUL, at least PASSWORD_MIN_LENGTH characters, and no obvious password',
      unset:
        'With the embedded database the service generates a password and prints it once. With `DATABASE_URL` it creates no admin.',
    }),
  ),
  PASSWORD_MIN_LENGTH: keys.whole({
    level: 'basic',
    unit: 'characters',
    minimum: 1,
    maximum: 72,
    default: 1,
    description: 'Shortest password at registration and password change.',
    beyond: 'REST answers 400 to a shorter password.',
  }),
  REGISTRATION: keys.choice(['open', 'closed'], {
    level: 'basic',
    unit: 'choice',
    default: 'open',
    description: 'Whether `POST /auth/register` creates accounts.',
    notes: '`closed`: it answers 403. The command `talkgroup-radio user add` adds users.',
  }),
  AUDIT_DAYS: keys.whole({
    level: 'tuning',
    unit: 'days',
    minimum: 1,
    maximum: 3650,
    default: 365,
    description: 'How long the audit log keeps an act of an administrator or a command.',
    beyond: 'The service deletes what is older.',
    notes: 'Every node must have the same value. The shortest one counts.',
  }),
  TALKGROUP_DIRECTORY: keys.choice(['all', 'admin'], {
    level: 'basic',
    unit: 'choice',
    default: 'all',
    description: 'Users that may read `GET /talkgroups/directory`.',
    notes: '`all`: every user. `admin`: dispatchers and administrators only, others get 403.',
  }),
};

export const loginSettings = {
  LOGIN_FAILURES_PAIR: login.rate({
    level: 'tuning',
    unit: 'wrong passwords, burst/minute',
    default: '20/20',
    description: 'Wrong passwords for one username from one address.',
    beyond: TOO_MANY_WRONG,
    notes: 'The wrong old passwords of one user at a password change have the same limit.',
  }),
  LOGIN_FAILURES_NAME: login.rate({
    level: 'tuning',
    unit: 'wrong passwords, burst/minute',
    default: '200/60',
    description: 'Wrong passwords for one username from all addresses.',
    beyond: TOO_MANY_WRONG,
    notes:
      'The limit does not apply at an address where that username logged in or registered within 30 days.',
  }),
  LOGIN_FAILURES_ADDRESS: login.rate({
    level: 'tuning',
    unit: 'wrong passwords, burst/minute',
    default: '500/300',
    description: 'Wrong passwords from one address for all usernames.',
    beyond: TOO_MANY_WRONG,
    notes:
      'The limit does not apply to a username that logged in or registered there within 30 days. The default is high because a whole depot may share one address.',
  }),
  REGISTRATIONS_PER_MINUTE: login.whole({
    level: 'tuning',
    unit: 'registrations per minute',
    minimum: 1,
    maximum: MANY,
    default: 600,
    description: 'Registrations from one address.',
    beyond: 'The service answers 429 with `Retry-After`.',
    notes: 'The burst is the same number. A registration with a taken username counts.',
  }),
  LOGIN_QUEUE: login.whole({
    level: 'expert',
    unit: 'requests',
    minimum: 1,
    maximum: 1000,
    default: 64,
    description: 'Logins, registrations and password changes that are hashed or wait for it.',
    beyond: 'The service answers 503 with `Retry-After`.',
    notes:
      'The service also answers 503 when the wait would exceed 2.5 s. One address may hold as many places as are free, which is half of them. It may hold 20 as long as 5 are free.',
  }),
};
