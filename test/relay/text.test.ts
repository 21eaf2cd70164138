// Control messages: PING, GPS_UPDATE, and everything that is none.
import { once } from 'node:events';
import fc from 'fast-check';
import t from 'tap';
import { type Radio, service } from '../helpers/service/service.js';

t.test('control messages', { timeout: 120_000 }, async (t) => {
  const s = await service(t);
  let made = 0;
  /** A radio of a new user, so that no test uses up another's rate. */
  const newRadio = async (serial?: string) => {
    const person = await s.person(`text-${++made}`, serial === undefined ? {} : { serial });
    return { person, radio: await person.radio() };
  };
  const latest = async (token: string, device: string | null) =>
    (await s.call('GET', `/devices/${device}/gps`, token)).body.gps;

  t.test('PING is answered with its time, its ref and the clock of the server', async (t) => {
    const { radio } = await newRadio();
    for (const ref of ['a', 7, -1, undefined]) {
      const before = Date.now();
      radio.says({ type: 'PING', t: 1234, ref });
      const pong = await radio.hears('PONG');
      t.same(
        Object.keys(pong).sort(),
        ['ref', 'server_time', 't', 'type'].filter((key) => key !== 'ref' || ref !== undefined),
      );
      t.equal(pong.t, 1234);
      t.equal(pong.ref, ref);
      t.ok((pong.server_time as number) >= before && (pong.server_time as number) <= Date.now());
    }
  });

  t.test('GPS_UPDATE is stored when its OK comes, and REST shows it', async (t) => {
    const { person, radio } = await newRadio('SN-own');
    radio.says({ type: 'GPS_UPDATE', lat: 52.5, lng: -13.25, alt: 34, ref: 'fix' });
    t.same(await radio.hears('OK'), { type: 'OK', ref: 'fix' });
    t.match(await latest(person.token, person.device), {
      device_id: person.device,
      lat: 52.5,
      lng: -13.25,
      alt: 34,
    });
    radio.says({ type: 'GPS_UPDATE', lat: 1, lng: 2, alt: 3 });
    await radio.settled();
    radio.says({ type: 'GPS_UPDATE', lat: 4, lng: 5, alt: 6, ref: 2 });
    await radio.hears('OK');
    t.match(await latest(person.token, person.device), { lat: 4, lng: 5, alt: 6 });
    t.same(radio.messages, [], 'without ref there is no OK');
  });

  t.test('GPS_UPDATE may name a device, and one that is not there is told', async (t) => {
    const { radio } = await newRadio();
    const { person } = await newRadio('SN-other');
    const fix = { type: 'GPS_UPDATE', lat: 1, lng: 2, alt: 3 };
    radio.says({ ...fix, device_id: person.device, ref: 1 });
    await radio.hears('OK');
    t.match(await latest(person.token, person.device), { lat: 1, lng: 2, alt: 3 });
    radio.says({ ...fix, ref: 2 });
    t.match(await radio.hears('ERROR'), { code: 'unknown_device', ref: 2 }, 'none is linked');
    radio.says({ ...fix, device_id: '00000000-0000-4000-8000-000000000000', ref: 3 });
    t.match(await radio.hears('ERROR'), { code: 'unknown_device', ref: 3 });
    radio.says({ ...fix, device_id: 'SN-other', ref: 4 });
    t.match(await radio.hears('ERROR'), { code: 'unknown_device', ref: 4 }, 'a malformed id names nothing');
  });

  const fix = { type: 'GPS_UPDATE', lat: 0, lng: 0, alt: 0 };
  const bad: [text: unknown, code: string][] = [
    ['', 'bad_message'],
    ['{', 'bad_message'],
    ['null', 'bad_message'],
    ['7', 'bad_message'],
    ['"PING"', 'bad_message'],
    [[], 'bad_message'],
    [{}, 'bad_message'],
    [{ type: 7 }, 'bad_message'],
    [{ type: 'ping' }, 'unknown_type'],
    [{ type: 'WELCOME' }, 'unknown_type'],
    [{ type: '__proto__' }, 'unknown_type'],
    [{ type: 'constructor' }, 'unknown_type'],
    ['{"__proto__": {"type": "PING", "t": 1}}', 'bad_message'],
    [{ type: 'PING' }, 'bad_message'],
    [{ type: 'PING', t: '1' }, 'bad_message'],
    [{ type: 'PING', t: 1.5 }, 'bad_message'],
    [{ type: 'PING', t: 2 ** 53 }, 'bad_message'],
    [{ type: 'PING', t: 1, ref: 'x'.repeat(65) }, 'bad_message'],
    [{ type: 'PING', t: 1, ref: 1.5 }, 'bad_message'],
    [{ type: 'PING', t: 1, ref: {} }, 'bad_message'],
    [{ ...fix, lat: 90.1 }, 'bad_message'],
    [{ ...fix, lng: -180.1 }, 'bad_message'],
    [{ ...fix, alt: 100_001 }, 'bad_message'],
    [{ ...fix, alt: '0' }, 'bad_message'],
    ['{"type":"GPS_UPDATE","lat":1e999,"lng":0,"alt":0}', 'bad_message'],
    [{ type: 'GPS_UPDATE', lat: 0, lng: 0 }, 'bad_message'],
    [{ ...fix, device_id: 7 }, 'bad_message'],
  ];
  for (const [message, code] of bad) {
    t.test(`${JSON.stringify(message).slice(0, 70)} is ${code}`, async (t) => {
      const { radio } = await newRadio();
      radio.says(message);
      t.match(await radio.hears('ERROR'), { code });
      radio.says({ type: 'PING', t: 1 });
      t.match(await radio.hears('PONG'), { t: 1 }, 'the session goes on');
    });
  }

  t.test('what is wrong is answered under its ref where one can be made out', async (t) => {
    const { radio } = await newRadio();
    radio.says({ type: 'PING', ref: 'mine' });
    t.match(await radio.hears('ERROR'), { code: 'bad_message', ref: 'mine' });
    radio.says({ type: 'NOTHING', ref: 8 });
    t.match(await radio.hears('ERROR'), { code: 'unknown_type', ref: 8 });
  });

  t.test('unknown properties are ignored', async (t) => {
    const { radio } = await newRadio();
    radio.says({ type: 'PING', t: 1, more: { of: 'it' } });
    await radio.hears('PONG');
    t.pass();
  });

  t.test('the 20th bad text within 10 s closes', async (t) => {
    const { radio } = await newRadio();
    for (let sent = 0; sent < 20; sent++) radio.says('no JSON');
    t.same(await radio.closes(), { code: 1013, reason: 'rate_limited' });
    t.equal(radio.messages.length, 19);
  });

  t.test('beyond its rate a PING with ref is refused, one without is ignored', async (t) => {
    const { radio } = await newRadio();
    for (let sent = 0; sent < 10; sent++) radio.says({ type: 'PING', t: sent });
    radio.says({ type: 'PING', t: 10, ref: 'told' });
    t.match(await radio.hears('ERROR'), { code: 'rate_limited', ref: 'told' });
    t.ok(radio.messages.length >= 5 && radio.messages.length < 10, `${radio.messages.length} answered of 10`);
    t.ok(radio.messages.every(({ type }) => type === 'PONG'));
  });

  const lost = (radio: Radio) => once(radio.socket, 'close').then(([code]) => code as number);

  t.test('a text of 8,192 bytes is read, one byte more ends the connection', async (t) => {
    const { radio } = await newRadio();
    radio.says(JSON.stringify({ type: 'PING', t: 1 }).padEnd(8192));
    await radio.hears('PONG');
    const closed = lost(radio);
    radio.says('x'.repeat(8193));
    t.ok([1006, 1009].includes(await closed));
  });

  t.test('a text that is no UTF-8 ends the connection and nothing else', async (t) => {
    const { radio } = await newRadio();
    const closed = lost(radio);
    radio.socket.send(Buffer.from([0x22, 0xff, 0xfe, 0x22]), { binary: false });
    t.ok([1006, 1007].includes(await closed));
    const { radio: other } = await newRadio();
    t.ok(other.welcome);
  });

  t.test('whatever the JSON, the session answers or ignores it and lives', async (t) => {
    const field = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(90, -90, 0, -0, 1e308, '', 'PING', null),
    );
    const message = fc.record(
      {
        type: fc.constantFrom('PING', 'GPS_UPDATE', 'OK', 'SUBSCRIBE'),
        t: field,
        ref: field,
        lat: field,
        lng: field,
        alt: field,
        device_id: field,
      },
      { requiredKeys: ['type'] },
    );
    // Fewer than 20 to each radio, for the 20th bad one would close it.
    const samples = fc.sample(message, { numRuns: 190, seed: 7 });
    for (let first = 0; first < samples.length; first += 19) {
      const { radio } = await newRadio();
      for (const sample of samples.slice(first, first + 19)) radio.says(sample);
      await radio.settled();
      t.equal(radio.socket.readyState, radio.socket.OPEN);
      const answers = new Set(radio.messages.map(({ type }) => type));
      for (const type of answers) t.ok(['ERROR', 'PONG', 'OK'].includes(type as string));
      radio.socket.terminate();
    }
  });
});
