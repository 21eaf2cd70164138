// Declares the radio in the terminal. Each command loads its modules when it runs.
import { type Command, Option } from 'commander';

export function declareRadio(program: Command): void {
  const radio = program.command('radio').description('run a radio in the terminal');

  /** As a variable it is not in the list of processes, which every account of the machine can read. */
  const tokenOption = () =>
    new Option('--token <jwt>', 'access token from POST /auth/login')
      .env('RADIO_TOKEN')
      .makeOptionMandatory();

  const urlOption = () =>
    new Option('--url <url>', 'address of the relay, such as ws://127.0.0.1:3001').makeOptionMandatory();
  const restOption = () =>
    new Option('--rest <url>', 'address of the REST API for the keys of encrypted speech');
  const holderOption = () =>
    new Option('--holder <path>', 'file of the key holder, created with a password from the prompt');

  radio
    .command('talk')
    .description('send an Ogg Opus file to a talkgroup at the speed of live speech')
    .addOption(urlOption())
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
    .addOption(restOption())
    .addOption(holderOption())
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
        const { talkFile } = await import('../../client/terminal/terminal.js');
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
    .addOption(urlOption())
    .addOption(tokenOption())
    .requiredOption('--out <path>', 'Ogg Opus file to write')
    .option('--talkgroup <name or id>', 'write this talkgroup only')
    .option('--bursts <n>', 'exit after this number of talk bursts', readCount)
    .addOption(restOption())
    .addOption(holderOption())
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
        const { listenToFile } = await import('../../client/terminal/terminal.js');
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

  radio
    .command('replay')
    .description('list recordings of a talkgroup, and write their speech to an Ogg Opus file')
    .requiredOption('--rest <url>', 'address of the REST API, such as http://127.0.0.1:3000')
    .addOption(tokenOption())
    .option('--talkgroup <name or id>', 'talkgroup of which the user is a member')
    .option('--last <n>', 'how many recordings, 1 to 200. Without it the last one.', readLast)
    .option('--recording <id>', 'this recording only')
    .option('--out <path>', 'Ogg Opus file to write. Without it the recordings are listed only.')
    .action(
      async ({
        rest: url,
        ...options
      }: {
        rest: string;
        token: string;
        talkgroup?: string;
        last?: number;
        recording?: string;
        out?: string;
      }) => {
        if (!/^https?:/.test(url))
          fail('--rest must be the address of the REST API, such as http://127.0.0.1:3000');
        if (options.talkgroup === undefined && options.recording === undefined)
          fail('--talkgroup or --recording is needed');
        const { replayToFile } = await import('../../client/terminal/replay.js');
        const { listed, recordings, packets } = await replayToFile({
          ...{ ...options, url },
          signal: interrupted(),
          report: (line) => console.log(line),
        });
        if (listed === 0) fail('there is no recording that this user may hear');
        if (options.out === undefined) return;
        if (recordings === 0) fail(`${options.out} is not written: there is no speech to write`);
        console.log(`${options.out}: ${recordings} recordings, ${packets} packets`);
      },
    );

  radio
    .command('echo')
    .description(
      'repeat each talk burst half a second after its end, until Ctrl-C. It repeats no encrypted speech.',
    )
    .addOption(urlOption())
    .addOption(tokenOption())
    .option('--talkgroup <name or id>', 'repeat in this talkgroup only')
    .action(async (options: { url: string; token: string; talkgroup?: string }) => {
      const { echo } = await import('../../client/terminal/echo.js');
      await echo({ ...options, signal: interrupted(), report: (line) => console.error(line) });
    });

  radio
    .command('crowd')
    .argument('<n>', 'number of radios, 1 to 500')
    .description('connect many radios that listen, talk now and then, and move, until Ctrl-C')
    .addOption(urlOption())
    .requiredOption('--rest <url>', 'address of the REST API, such as http://127.0.0.1:3000')
    .requiredOption('--users <file>', 'CSV file with the columns username and password, as `import` takes it')
    .option('--talking <share>', 'how much of its time each radio talks, 0 to 0.5', '0.02')
    .option('--area <lat,lng,km>', 'where the radios move. Without it they report no position')
    .action(
      async (
        count: string,
        options: { url: string; rest: string; users: string; talking: string; area?: string },
      ) => {
        const { crowdCommand } = await import('../crowd.js');
        await crowdCommand(count, { ...options, signal: interrupted() });
      },
    );
}

/** The keys of a radio with --holder. */
async function keysFor({ token, rest, holder }: { token: string; rest?: string; holder?: string }) {
  if (holder === undefined && rest === undefined) return null;
  if (holder === undefined || rest === undefined) return fail('--holder and --rest belong together');
  const { openKeys } = await import('../../client/terminal/keys.js');
  return openKeys({
    ...{ token, rest, holder },
    password: async () => (await import('../running.js')).readPassword(),
    report: (line) => console.error(line),
  });
}

/** cli.ts prints the message, and the exit code is 1. */
function fail(message: string): never {
  throw new Error(message);
}

function readCount(text: string): number {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : fail('--bursts must be an integer from 1 to 999999');
}

function readLast(text: string): number {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= 200
    ? Number(text)
    : fail('--last must be an integer from 1 to 200');
}

function readPriority(text: string): number {
  return /^[0-7]$/.test(text) ? Number(text) : fail('--priority must be an integer from 0 to 7');
}

function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}
