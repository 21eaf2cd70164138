// Lists the modules of bench. Their type is in modules.ts, which joins them with the others.

export const benchModules = {
  'bench/experiments': {
    purpose: 'runs a load on one or several servers and compares',
    imports: [
      'bench/figures',
      'bench/generator',
      'bench/machine',
      'bench/radios',
      'bench/scenario',
      'bench/servers',
    ],
  },
  'bench/figures': {
    purpose: 'goals, verdicts, histograms',
    imports: [],
  },
  'bench/generator': {
    purpose: 'load generators in processes of their own',
    imports: [
      'bench/figures',
      'bench/machine',
      'bench/radios',
      'src/client/encryption',
      'src/client/node',
      'src/protocol',
    ],
  },
  'bench/load': {
    purpose: '`make load`: a load on a service in use',
    imports: ['bench/figures', 'bench/machine', 'bench/radios', 'src/protocol'],
  },
  'bench/machine': {
    purpose: 'clock, processes, CPU time, memory',
    imports: ['bench/figures'],
  },
  'bench/radios': {
    purpose: 'radios that send and receive without the client, and with it where keys are fetched',
    imports: [
      'bench/figures',
      'bench/machine',
      'src/client/connection',
      'src/client/encryption',
      'src/client/node',
      'src/client/sound',
      'src/protocol',
    ],
  },
  'bench/report': {
    purpose: 'result pages, comparison, docs/performance.md',
    imports: ['bench/figures'],
  },
  'bench/scenario': {
    purpose: 'what a scenario is given and returns',
    imports: ['bench/figures', 'bench/generator', 'bench/machine', 'bench/servers'],
  },
  'bench/scenarios': {
    purpose: 'one file per question to the service',
    imports: [
      'bench/experiments',
      'bench/figures',
      'bench/generator',
      'bench/machine',
      'bench/radios',
      'bench/scenario',
      'bench/servers',
      'src/client/node',
      'src/protocol',
    ],
  },
  'bench/servers': {
    purpose: 'starts the service and the servers beside it',
    imports: ['bench/figures', 'bench/machine', 'bench/radios', 'src/client/encryption', 'src/protocol'],
  },
} as const;
