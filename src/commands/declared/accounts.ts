// Declares the commands that manage accounts and talkgroups. Each loads its modules when it runs.
import { Argument, type Command, Option } from 'commander';

const accounts = () => import('../accounts.js');
const fleet = () => import('../fleet.js');

export function declareAccounts(program: Command): void {
  const admin = program.command('admin').description('manage administrator accounts');

  admin
    .command('add')
    .argument('<username>', 'name of the account')
    .option('--promote', 'make an existing plain user an admin, who keeps the password. It asks for none')
    .description('add an administrator, with a password from the prompt or from standard input')
    .action(async (username: string, { promote = false }: { promote?: boolean }) => {
      const { addAdminCommand, promoteCommand } = await accounts();
      await (promote ? promoteCommand : addAdminCommand)(username);
    });

  admin
    .command('remove')
    .argument('<username>', 'name of the account')
    .description('make an administrator a plain user, and revoke all its tokens')
    .action(async (username: string) => (await accounts()).removeAdminCommand(username));

  /** A list for programs. */
  const jsonOption = ['--json', 'print a line of JSON for each'] as const;

  admin
    .command('list')
    .option(...jsonOption)
    .description('print the administrators')
    .action(async (options: { json?: boolean }) => (await fleet()).listAdminsCommand(options));

  const user = program.command('user').description('manage user accounts');

  user
    .command('list')
    .option('--search <text>', 'only users with this text in the username, or in the device')
    .option(...jsonOption)
    .description('print the users in the order of their names')
    .action(async (options: { search?: string; json?: boolean }) =>
      (await fleet()).listUsersCommand(options),
    );

  user
    .command('show')
    .argument('<username>', 'name of the account')
    .option(...jsonOption)
    .description('print a user with device, talkgroups, key holders and open emergencies')
    .action(async (username: string, options: { json?: boolean }) =>
      (await fleet()).showUserCommand(username, options),
    );

  user
    .command('delete')
    .argument('<username>', 'name of the account')
    .description('delete a user who is no administrator and has no open emergency')
    .action(async (username: string) => (await fleet()).deleteUserCommand(username));

  user
    .command('set-device')
    .argument('<username>', 'name of the account')
    .argument('[serial]', 'serial of the device. The command creates an unknown device')
    .option('--none', 'take the device away')
    .option('--site <site>', 'site of a device that the command creates')
    .description('link a user with a device. It revokes all tokens of the user, except for a first device')
    .action(
      async (username: string, serial: string | undefined, options: { none?: boolean; site?: string }) =>
        (await fleet()).setDeviceCommand(username, serial, options),
    );

  user
    .command('setup-code')
    .argument('<username>', 'name of the account, also of an administrator')
    .option('--hours <n>', 'how long the code is valid, 1 to 720', '72')
    .option('--address <url>', 'address of the REST port for the link, such as https://radio.example.com')
    .description('print a code with which the user sets a password without the old one')
    .action(async (username: string, options: { hours: string; address?: string }) =>
      (await accounts()).setupCodeCommand(username, options),
    );

  user
    .command('set-role')
    .argument('<username>', 'name of the account')
    .addArgument(new Argument('<role>', 'role of the user').choices(['user', 'dispatcher']))
    .description(
      'make a user a dispatcher, or a plain user again. The latter revokes all tokens of the user.',
    )
    .action(async (username: string, role: 'user' | 'dispatcher') =>
      (await fleet()).setRoleCommand(username, role),
    );

  user
    .command('set-password')
    .argument('<username>', 'name of the account')
    .option('--keep-tokens', 'revoke no token: the radios of the user stay logged in')
    .description(
      'set the password of a user, from the prompt or from standard input, and revoke all tokens of the user',
    )
    .action(async (username: string, options: { keepTokens?: boolean }) =>
      (await accounts()).setPasswordCommand(username, options),
    );

  user
    .command('lock')
    .argument('<username>', 'name of the account')
    .description('revoke all tokens of a user, and set a random password that it does not print')
    .action(async (username: string) => (await accounts()).lockCommand(username));

  user
    .command('add')
    .argument('<username>', 'name of the account')
    .option('--serial <serial>', 'serial of the device to link. The command creates an unknown device')
    .option('--site <site>', 'site of a device that the command creates')
    .option('--talkgroup <name or id>', 'talkgroup that the user joins. It may be repeated', collect)
    .description(
      'add a user, also while REGISTRATION is closed, with a password from the prompt or from standard input',
    )
    .action(async (username: string, options: { serial?: string; site?: string; talkgroup?: string[] }) =>
      (await fleet()).addUserCommand(username, options),
    );

  const talkgroup = program.command('talkgroup').description('manage talkgroups');

  talkgroup
    .command('list')
    .option(...jsonOption)
    .description('print the talkgroups in the order of their names')
    .action(async (options: { json?: boolean }) => (await fleet()).listTalkgroupsCommand(options));

  talkgroup
    .command('add')
    .argument('<name>', 'name of the talkgroup')
    .addOption(
      new Option('--floor-mode <mode>', 'who may talk at once')
        .choices(['open', 'single', 'broadcast'])
        .default('open'),
    )
    .description('add a talkgroup')
    .action(async (name: string, options: { floorMode: 'open' | 'single' | 'broadcast' }) =>
      (await fleet()).addTalkgroupCommand(name, options),
    );
}

/** The values of an option that is repeated. */
function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
