#!/usr/bin/env node
// Runs the commands of talkgroup-radio: accounts, tokens, migrations, secrets, settings, and a radio in the terminal.
//
// Each command loads its modules when it runs, because `health` runs every 10 s beside the audio.
import { Command, Option } from 'commander';
import { declareAccounts } from './commands/declared/accounts.js';
import { declareRadio } from './commands/declared/radio.js';

const accounts = () => import('./commands/accounts.js');
const secretCommands = () => import('./commands/secrets.js');
const service = () => import('./commands/service.js');

// As when `head` has read enough.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(code === 'EPIPE' ? 0 : 1));

const program = new Command('talkgroup-radio').description(
  'Administers the Talkgroup Radio Service, and runs a radio in the terminal.',
);

declareAccounts(program);

program
  .command('revoke')
  .argument('<username>', 'user whose tokens are revoked')
  .description("revoke all earlier tokens of a user and close the user's sockets. A new login works at once.")
  .action(async (username: string) => (await accounts()).revokeCommand(username));

program
  .command('token')
  .argument('<username...>', 'users that get a token, none of them an administrator')
  .description('print a token for each user, as a line with name, tab and token. A token does not expire.')
  .action(async (usernames: string[]) => (await import('./commands/token.js')).tokenCommand(usernames));

program
  .command('migrate')
  .description('migrate the database to the schema version of this release')
  .action(async () => (await service()).migrateCommand());

program
  .command('backup')
  .argument('<file>', 'file that the command creates, or - for standard output')
  .option('--no-token-key', 'leave out the key of the tokens that DATA_DIR has')
  .description('write a backup of the database to a file. The service may run.')
  .action(async (file: string, options: { tokenKey: boolean }) =>
    (await import('./commands/backup.js')).backupCommand(file, options),
  );

program
  .command('restore')
  .argument('<file>', 'file that `backup` has written, or - for standard input')
  .description('bring a backup into a database without users. The service must not run.')
  .action(async (file: string) => (await import('./commands/backup.js')).restoreCommand(file));

program
  .command('import')
  .argument('<file>', 'CSV file with a row for each radio')
  .option('--dry-run', 'print what would be done, and write nothing')
  .option('--create-talkgroups', 'create talkgroups that the file names and the service lacks')
  .option(
    '--codes <file>',
    'make a setup code for each new user without a password, and write them to a new file',
  )
  .option('--hours <n>', 'how long the codes are valid, 1 to 720 (default: 72)')
  .option('--address <url>', 'address of the REST port for links with the codes')
  .option('--passwords <file>', 'make a password for each new user without one, and write them to a new file')
  .description('add users, devices and memberships from a CSV file. It removes nothing.')
  .action(async (file: string, options: object) =>
    (await import('./commands/import.js')).importCommand(file, options),
  );

program
  .command('export')
  .argument('<file>', 'CSV file that the command creates, or - for standard output')
  .description('write all users with devices and talkgroups to a CSV file, without passwords')
  .action(async (file: string) => (await import('./commands/export.js')).exportCommand(file));

program
  .command('doctor')
  .argument('<username>', 'user of the radio')
  .option('--talkgroup <name or id>', 'talkgroup in question. Without it, all talkgroups of the user')
  .option('--json', 'print a line of JSON')
  .description('ask the database and all relays why a radio hears nothing. The service must run.')
  .action(async (username: string, options: { talkgroup?: string; json?: boolean }) =>
    (await import('./commands/doctor.js')).doctorCommand(username, options),
  );

program
  .command('audit')
  .option('--since <time>', 'only acts from then on: a time, or an age such as 12h or 2d')
  .option('--user <username>', 'only acts by this user, and acts done to this user')
  .option('--act <act>', 'only acts of this kind, such as device_disabled')
  .option('--json', 'print a line of JSON for each')
  .description('print the acts of administrators and commands, the newest last')
  .action(async (options: { since?: string; user?: string; act?: string; json?: boolean }) =>
    (await import('./commands/audit.js')).auditCommand(options),
  );

const secrets = program.command('secrets').description('manage the master secrets of talkgroups');

secrets
  .command('rotate')
  .description(
    'encrypt all master secrets with the first key of SECRETS_KEY. It is safe to repeat and beside running nodes.',
  )
  .action(async () => (await secretCommands()).rotateSecretsCommand());

secrets
  .command('export')
  .requiredOption('--talkgroup <id>', 'talkgroup of the keys')
  .requiredOption('--holder <id>', 'accepted key holder of a member, for which the keys are sealed')
  .option('--epochs <n>', 'number of the newest epochs, 1 to 64', '32')
  .description(
    'print the keys of a talkgroup as JSON, for a radio that cannot fetch them. Only the key holder opens them.',
  )
  .action(async (options: { talkgroup: string; holder: string; epochs: string }) =>
    (await secretCommands()).exportSecretsCommand(options),
  );

secrets
  .command('renew')
  .requiredOption('--talkgroup <id>', 'talkgroup that gets a new master secret')
  .option(
    '--restored',
    'the database is a restored backup: raise the counter beyond those that devices remember',
  )
  .option('--forget-recordings', 'also when encrypted recordings of the talkgroup lose their keys')
  .description('replace the master secret of a talkgroup that may have leaked, and rotate its keys')
  .action(async (options: { talkgroup: string; restored?: boolean; forgetRecordings?: boolean }) =>
    (await secretCommands()).renewSecretCommand(options),
  );

program
  .command('recordings')
  .description('manage recorded speech')
  .command('export')
  .requiredOption('--talkgroup <id>', 'talkgroup of the recordings, also a deleted one')
  .requiredOption(
    '--from <time>',
    'recordings of which some was said then or later, such as 2026-11-25T14:00:00Z',
  )
  .requiredOption('--to <time>', 'and some before')
  .requiredOption('--out <folder>', 'new or empty folder for the files')
  .description('write recordings to files, with a manifest and SHA-256 sums. The service may run.')
  .action(async (options: { talkgroup: string; from: string; to: string; out: string }) =>
    (await import('./commands/recordings.js')).exportRecordingsCommand(options),
  );

program
  .command('config')
  .description('print the effective settings of this environment, with secrets masked')
  .addOption(
    new Option(
      '--format <format>',
      'print the reference of all settings instead: Markdown, a commented .env file, or JSON Schema',
    ).choices(['md', 'env', 'json']),
  )
  .action(async ({ format }: { format?: 'md' | 'env' | 'json' }) => {
    (await service()).configCommand(format);
  });

program
  .command('reload')
  .description('make the running service read its TLS certificate and key again')
  .action(async () => (await service()).reloadCommand());

program
  .command('health')
  .description('check that the service answers at HOST and PORT. The exit code is 1 when it does not.')
  .action(async () => {
    const { isAlive, restAddress } = await import('./listening.js');
    const address = restAddress();
    if (address === null) {
      (await service()).checkSettings();
      return fail('PORT must be a port number');
    }
    const { host, port } = address;
    if (!(await isAlive(address)))
      fail(`the service at ${host}, port ${port}, did not answer 200 within 2 s`);
  });

declareRadio(program);

try {
  await program.parseAsync();
} catch (error) {
  fail((error as Error).message);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
