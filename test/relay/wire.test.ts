// RFC 6455 at the level of bytes: what no WebSocket library would send ends at worst the connection that sent it.
import t from 'tap';
import { encodeFrame } from '../../src/relay/frame.js';
import { service } from '../helpers/service.js';
import { BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, wire, wireFrame } from '../helpers/wire.js';

t.test('bytes', { timeout: 120_000 }, async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const { number } = await s.talkgroup('fire', ann, bob);
  const listener = await bob.radio();
  const address = `${s.ws}/ws?token=${ann.token}`;
  const ping = (text: number) => JSON.stringify({ type: 'PING', t: text });
  const frame = (text: string) => encodeFrame({ sequence: 0, talkgroup: number, payload: Buffer.from(text) });

  /** Whoever sent what before, the relay still serves everybody else. */
  async function isWell(): Promise<boolean> {
    const radio = await ann.radio();
    await radio.settled();
    radio.socket.terminate();
    await listener.settled();
    return listener.frames.splice(0).length === 0;
  }

  const endings: [name: string, section: string, bytes: Buffer[]][] = [
    ['a reserved bit', '5.2', [wireFrame({ opcode: TEXT, payload: ping(1), reserved: 4 })]],
    ['all reserved bits', '5.2', [wireFrame({ opcode: BINARY, payload: frame('x'), reserved: 7 })]],
    ['opcode 3', '5.2', [wireFrame({ opcode: 0x3, payload: 'x' })]],
    ['opcode 7', '5.2', [wireFrame({ opcode: 0x7, payload: 'x' })]],
    ['opcode 11', '5.2', [wireFrame({ opcode: 0xb, payload: 'x' })]],
    ['opcode 15', '5.2', [wireFrame({ opcode: 0xf, payload: 'x' })]],
    ['a fragmented PING', '5.5', [wireFrame({ opcode: PING, payload: 'x', fin: false })]],
    ['a fragmented close', '5.5', [wireFrame({ opcode: CLOSE, fin: false })]],
    ['a PING of 126 bytes', '5.5', [wireFrame({ opcode: PING, payload: 'x'.repeat(126) })]],
    ['a close of 126 bytes', '5.5', [wireFrame({ opcode: CLOSE, payload: 'x'.repeat(126) })]],
    ['a declared length of 2^40', '5.2', [wireFrame({ opcode: BINARY, declared: 2n ** 40n })]],
    ['a declared length of 2^63', '5.2', [wireFrame({ opcode: BINARY, declared: 2n ** 63n })]],
    ['a declared length of 2^64 - 1', '5.2', [wireFrame({ opcode: TEXT, declared: 2n ** 64n - 1n })]],
    [
      'fragments that add up to too much',
      '5.4',
      [
        wireFrame({ opcode: BINARY, payload: new Uint8Array(5000), fin: false }),
        wireFrame({ opcode: CONTINUATION, payload: new Uint8Array(5000) }),
      ],
    ],
    ['text that is no UTF-8', '8.1', [wireFrame({ opcode: TEXT, payload: new Uint8Array([0xc3, 0x28]) })]],
    [
      'text that ends inside a character',
      '8.1',
      [wireFrame({ opcode: TEXT, payload: new Uint8Array([0xe2, 0x82]) })],
    ],
    [
      'text whose second fragment is no UTF-8',
      '8.1',
      [
        wireFrame({ opcode: TEXT, payload: 'good', fin: false }),
        wireFrame({ opcode: CONTINUATION, payload: new Uint8Array([0xff]) }),
      ],
    ],
    ['a close of one byte', '5.5.1', [wireFrame({ opcode: CLOSE, payload: new Uint8Array([3]) })]],
    ['a close with code 1005', '7.4.1', [closeOf(1005)]],
    ['a close with code 999', '7.4.2', [closeOf(999)]],
    ['a close whose reason is no UTF-8', '5.5.1', [closeOf(1000, new Uint8Array([0xff]))]],
    ['an orderly close', '7.1.2', [closeOf(1000)]],
    ['a close without a code', '5.5.1', [wireFrame({ opcode: CLOSE })]],
  ];
  for (const [name, section, bytes] of endings) {
    t.test(`${name} ends that connection alone (RFC 6455, ${section})`, async (t) => {
      const radio = await wire(t, address);
      radio.write(...bytes, wireFrame({ opcode: BINARY, payload: frame('behind it') }));
      t.ok(await radio.ends());
      t.ok(await isWell(), 'nothing was relayed, everybody else goes on');
    });
  }

  const goesOn: [name: string, section: string, bytes: Buffer[]][] = [
    ['a PING between two fragments', '5.4', fragmented(ping(1), wireFrame({ opcode: PING, payload: 'p' }))],
    ['a PONG that nobody asked for', '5.5.3', [wireFrame({ opcode: PONG, payload: 'x' }), text(ping(1))]],
    ['an empty PING', '5.5.2', [wireFrame({ opcode: PING }), text(ping(1))]],
    ['one character in two fragments', '8.1', fragmentedCharacter()],
    ['empty fragments', '5.4', fragmented(ping(1), wireFrame({ opcode: CONTINUATION, fin: false }))],
  ];
  for (const [name, section, bytes] of goesOn) {
    t.test(`${name}: the session goes on (RFC 6455, ${section})`, async (t) => {
      const radio = await wire(t, address);
      radio.write(...bytes);
      await radio.hears(({ type }) => type === 'PONG' || type === 'ERROR');
      radio.socket.destroy();
      t.ok(await isWell());
    });
  }

  t.test('a message in pieces of one byte is read like any other', async (t) => {
    const radio = await wire(t, address);
    for (const byte of text(ping(5))) radio.socket.write(Buffer.of(byte));
    t.match(await radio.hears(({ type }) => type === 'PONG'), { t: 5 });
    radio.socket.destroy();
  });

  // A deviation of the engine, named in PROTOCOL.md: 5.1 wants such a connection closed.
  t.test('an unmasked frame is read as if it were masked, and is heard by nobody', async (t) => {
    const radio = await wire(t, address);
    radio.write(wireFrame({ opcode: BINARY, payload: frame('unmasked'), masked: false }), text(ping(6)));
    t.ok(await isWell());
    radio.socket.destroy();
  });
});

function closeOf(code: number, reason: Uint8Array = new Uint8Array(0)): Buffer {
  return wireFrame({
    opcode: CLOSE,
    payload: Buffer.concat([Buffer.from([code >> 8, code & 0xff]), reason]),
  });
}

const text = (payload: string) => wireFrame({ opcode: TEXT, payload });

/** A text in two fragments with something in between. */
function fragmented(payload: string, between: Buffer): Buffer[] {
  const half = payload.length >> 1;
  return [
    wireFrame({ opcode: TEXT, payload: payload.slice(0, half), fin: false }),
    between,
    wireFrame({ opcode: CONTINUATION, payload: payload.slice(half) }),
  ];
}

function fragmentedCharacter(): Buffer[] {
  const bytes = Buffer.from('{"type":"PING","t":1,"more":"ä"}');
  const inside = bytes.indexOf(0xa4); // the second byte of the character
  return [
    wireFrame({ opcode: TEXT, payload: bytes.subarray(0, inside), fin: false }),
    wireFrame({ opcode: CONTINUATION, payload: bytes.subarray(inside) }),
  ];
}
