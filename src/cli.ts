#!/usr/bin/env node
// The command line: accounts that no public route makes, migrations, and a radio in the terminal.
//
// Each command loads what it needs when it runs: `health` runs every 10 s beside the audio.
import { Command, Option } from 'commander';

const commands = () => import('./commands.js');

const program = new Command('talkgroup-radio').description(
  'Talkgroup Radio Service: administration and a radio in the terminal',
);

program
  .command('admin')
  .description('administrator accounts')
  .command('add')
  .argument('<username>', 'name of the account')
  .option('--promote', 'make an existing plain user an admin; it keeps its password')
  .description('add an administrator; the password is asked for, or read from standard input')
  .action(async (username: string, options: { promote?: boolean }) => {
    await (await commands()).addAdminCommand(username, options);
  });

program
  .command('user')
  .description('user accounts')
  .command('add')
  .argument('<username>', 'name of the account')
  .description('add a user, also while REGISTRATION is closed; the password is read as by admin add')
  .action(async (username: string) => {
    await (await commands()).addUserCommand(username);
  });

program
  .command('revoke')
  .argument('<username>', 'whose phone was lost')
  .description(
    "refuse all of a user's tokens issued so far and close the user's live sockets; a new login works at once",
  )
  .action(async (username: string) => (await commands()).revokeCommand(username));

program
  .command('migrate')
  .description('bring the database to the version of this code')
  .action(async () => (await commands()).migrateCommand());

program
  .command('secrets')
  .description("the talkgroups' master secrets")
  .command('rotate')
  .description('wrap all of them with the first key of SECRETS_KEY; safe beside running nodes and to repeat')
  .action(async () => (await commands()).rotateSecretsCommand());

program
  .command('config')
  .description('print the settings in force, with secrets masked')
  .addOption(
    new Option(
      '--format <format>',
      'print the settings that exist instead: md for reading, env as a commented .env file, json as JSON Schema',
    ).choices(['md', 'env', 'json']),
  )
  .action(async ({ format }: { format?: 'md' | 'env' | 'json' }) => {
    (await commands()).configCommand(format);
  });

program
  .command('reload')
  .description(
    'let the running service read its TLS certificate and key again; says whether it presents them',
  )
  .action(async () => (await commands()).reloadCommand());

program
  .command('health')
  .description('whether the service answers at HOST and PORT; exit code 1 when not')
  .action(async () => {
    const { isAlive, restAddress } = await import('./listening.js');
    const address = restAddress();
    if (address === null) (await commands()).checkSettings();
    if (address === null || !(await isAlive(address))) fail('not alive');
  });

const radio = program.command('radio').description('a radio in the terminal');

radio
  .command('talk')
  .description('speak an Ogg Opus file into a talkgroup, in real time')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .requiredOption('--token <jwt>', 'access token from POST /auth/login')
  .requiredOption('--talkgroup <name or id>', 'a talkgroup the user is a member of')
  .requiredOption('--file <path>', 'what to say')
  .option('--priority <0..7>', 'from 4 on it preempts others, for admins and in an emergency', readPriority)
  .option('--queue', 'wait for the floor where somebody else talks')
  .action(
    async (options: {
      url: string;
      token: string;
      talkgroup: string;
      file: string;
      priority?: number;
      queue?: boolean;
    }) => {
      const { talkFile } = await import('./client/terminal.js');
      const { code } = await talkFile({
        ...options,
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      if (code !== 'released') fail(`the talk ended: ${code}`);
    },
  );

radio
  .command('listen')
  .description('write what is heard to an Ogg Opus file, until Ctrl-C or so many bursts')
  .requiredOption('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001')
  .requiredOption('--token <jwt>', 'access token from POST /auth/login')
  .requiredOption('--out <path>', 'file to write')
  .option('--talkgroup <name or id>', 'only this talkgroup')
  .option('--bursts <n>', 'end after so many talk bursts', readCount)
  .action(
    async (options: { url: string; token: string; out: string; talkgroup?: string; bursts?: number }) => {
      const { listenToFile } = await import('./client/terminal.js');
      const heard = await listenToFile({
        ...options,
        signal: interrupted(),
        report: (line) => console.error(line),
      });
      console.log(`${options.out}: ${heard.bursts} bursts, ${heard.packets} packets`);
    },
  );

try {
  await program.parseAsync();
} catch (error) {
  fail((error as Error).message);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function readCount(text: string): number {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail('--bursts takes a number from 1 on');
}

function readPriority(text: string): number {
  return /^[0-7]$/.test(text) ? Number(text) : fail('--priority takes a number from 0 to 7');
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}
