// The promises of a bus over a server that the environment names. A process of its own, because Node reads the certificates
// that it trusts at its start.
import { readFileSync } from 'node:fs';
import t from 'tap';
import { testBus } from './bus-contract.js';
import { overNats } from './nats-bus.js';

const { PORT, NATS_USER = '', CREDENTIALS } = process.env;
const credentials = CREDENTIALS === undefined ? null : readFileSync(CREDENTIALS);
const access = { port: Number(PORT), user: NATS_USER, isTls: true, credentials, prefix: 'tgr.1' };
testBus(t, { name: 'nats over TLS', carrier: overNats(async () => access), isNetwork: true });
