#!/usr/bin/env node
// Runs the commands of talkgroup-radio: accounts, tokens, migrations, secrets, settings, and a radio in the terminal.
//
// Each command loads its modules when it runs, because `health` runs every 10 s beside the audio.
import { Command, Option } from 'commander';

const commands = () => import('./commands.js');

const program = new Command('talkgroup-radio').description(
  'Administers the Talkgroup Radio Service, and runs a radio in the terminal.',
);

const admin = program.command('admin').description('manage administrator accounts');

admin
  .command('add')
  .argument('<username>', 'name of the account')
  .option('--promote', 'make an existing plain user an admin, who keeps the password. It asks for none')
  .description('add an administrator, with a password from the prompt or from standard input')
  .action(async (username: string, { promote = false }: { promote?: boolean }) => {
    const { addAdminCommand, promoteCommand } = await commands();
    await (promote ? promoteCommand : addAdminCommand)(username);
  });

admin
  .command('remove')
  .argument('<username>', 'name of the account')
  .description('make an administrator a plain user, and revoke all its tokens')
  .action(async (username: string) => (await commands()).removeAdminCommand(username));

const user = program.command('user').description('manage user accounts');

user
  .command('set-password')
  .argument('<username>', 'name of the account')
  .description(
    'set the password of a user, from the prompt or from standard input, and revoke all tokens of the user',
  )
  .action(async (username: string) => (await commands()).setPasswordCommand(username));

user
  .command('lock')
  .argument('<username>', 'name of the account')
  .description('revoke all tokens of a user, and set a random password that it does not print')
  .action(async (username: string) => (await commands()).lockCommand(username));

user
  .command('add')
  .argument('<username>', 'name of the account')
  .description(
    'add a user, also while REGISTRATION is closed, with a password from the prompt or from standard input',
  )
  .action(async (username: string) => {
    await (await commands()).addUserCommand(username);
  });

program
  .command('revoke')
  .argument('<username>', 'user whose tokens are revoked')
  .description("revoke all earlier tokens of a user and close the user's sockets. A new login works at once.")
  .action(async (username: string) => (await commands()).revokeCommand(username));

program
  .command('migrate')
  .description('migrate the database to the schema version of this release')
  .action(async () => (await commands()).migrateCommand());

const secrets = program.command('secrets').description('manage the master secrets of talkgroups');

secrets
  .command('rotate')
  .description(
    'encrypt all master secrets with the first key of SECRETS_KEY. It is safe to repeat and beside running nodes.',
  )
  .action(async () => (await commands()).rotateSecretsCommand());

secrets
  .command('export')
  .requiredOption('--talkgroup <id>', 'talkgroup of the keys')
  .requiredOption('--holder <id>', 'accepted key holder of a member, for which the keys are sealed')
  .option('--epochs <n>', 'number of the newest epochs, 1 to 64', '32')
  .description(
    'print the keys of a talkgroup as JSON, for a radio that cannot fetch them. Only the key holder opens them.',
  )
  .action(async (options: { talkgroup: string; holder: string; epochs: string }) =>
    (await commands()).exportSecretsCommand(options),
  );

secrets
  .command('renew')
  .requiredOption('--talkgroup <id>', 'talkgroup that gets a new master secret')
  .option(
    '--restored',
    'the database is a restored backup: raise the counter beyond those that devices remember',
  )
  .description('replace the master secret of a talkgroup that may have leaked, and rotate its keys')
  .action(async (options: { talkgroup: string; restored?: boolean }) =>
    (await commands()).renewSecretCommand(options),
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
    (await commands()).configCommand(format);
  });

program
  .command('reload')
  .description('make the running service read its TLS certificate and key again')
  .action(async () => (await commands()).reloadCommand());

program
  .command('health')
  .description('check that the service answers at HOST and PORT. The exit code is 1 when it does not.')
  .action(async () => {
    const { isAlive, restAddress } = await import('./listening.js');
    const address = restAddress();
    if (address === null) {
      (await commands()).checkSettings();
      return fail('PORT must be a port number');
    }
    const { host, port } = address;
    if (!(await isAlive(address)))
      fail(`the service at ${host}, port ${port}, did not answer 200 within 2 s`);
  });

const radio = program.command('radio').description('run a radio in the terminal');

/** As a variable it is not in the list of processes, which every account of the machine can read. */
const tokenOption = () =>
  new Option('--token <jwt>', 'access token from POST /auth/login').env('RADIO_TOKEN').makeOptionMandatory();

radio
  .command('talk')
  .description('send an Ogg Opus file to a talkgroup at the speed of live speech')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .addOption(tokenOption())
  .requiredOption('--talkgroup <name or id>', 'talkgroup of which the user is a member')
  .requiredOption('--file <path>', 'Ogg Opus file to send')
  .option(
    '--priority <0..7>',
    'priority of the burst. From 4 on it pre-empts others: for admins and in an emergency only.',
    readPriority,
  )
  .option('--queue', 'wait for the floor while another user talks')
  .option('--encrypt', 'encrypt the speech, also where the talkgroup does not require it')
  .option('--rest <url>', 'address of the REST API for the keys of encrypted speech')
  .option('--holder <path>', 'file of the key holder, created with a password from the prompt')
  .action(
    async (options: {
      url: string;
      token: string;
      talkgroup: string;
      file: string;
      priority?: number;
      queue?: boolean;
      encrypt?: boolean;
      rest?: string;
      holder?: string;
    }) => {
      const { talkFile } = await import('./client/terminal/terminal.js');
      if (options.encrypt && !options.holder) fail('--encrypt needs --holder and --rest');
      const keys = await keysFor(options);
      const { code } = await talkFile({
        ...options,
        ...(keys && { keys }),
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      await keys?.close();
      if (code !== 'released') fail(`the talk ended: ${code}`);
    },
  );

radio
  .command('listen')
  .description('write received audio to an Ogg Opus file until Ctrl-C or --bursts')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .addOption(tokenOption())
  .requiredOption('--out <path>', 'Ogg Opus file to write')
  .option('--talkgroup <name or id>', 'write this talkgroup only')
  .option('--bursts <n>', 'exit after this number of talk bursts', readCount)
  .option('--rest <url>', 'address of the REST API for the keys of encrypted speech')
  .option('--holder <path>', 'file of the key holder, created with a password from the prompt')
  .action(
    async (options: {
      url: string;
      token: string;
      out: string;
      talkgroup?: string;
      bursts?: number;
      rest?: string;
      holder?: string;
    }) => {
      const { listenToFile } = await import('./client/terminal/terminal.js');
      const keys = await keysFor(options);
      const heard = await listenToFile({
        ...options,
        ...(keys && { keys }),
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      await keys?.close();
      console.log(`${options.out}: ${heard.bursts} bursts, ${heard.packets} packets`);
    },
  );

try {
  await program.parseAsync();
} catch (error) {
  fail((error as Error).message);
}

/** The keys of a radio with --holder. */
async function keysFor({ token, rest, holder }: { token: string; rest?: string; holder?: string }) {
  if (holder === undefined && rest === undefined) return null;
  if (holder === undefined || rest === undefined) return fail('--holder and --rest belong together');
  const { openKeys } = await import('./client/terminal/keys.js');
  return openKeys({
    ...{ token, rest, holder },
    password: async () => (await commands()).readPassword(),
    report: (line) => console.error(line),
  });
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function readCount(text: string): number {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail('--bursts must be an integer from 1 to 999999');
}

function readPriority(text: string): number {
  return /^[0-7]$/.test(text) ? Number(text) : fail('--priority must be an integer from 0 to 7');
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}
