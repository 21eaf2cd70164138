// Headers of SFrame from RFC 9605, C.1 (test-vectors.json of its working group): key ids and counters up to 2^32. The list
// there goes on to 2^64 - 1.

const counters = [0, 1, 255, 256, 65_535, 65_536, 16_777_215, 16_777_216, 4_294_967_295, 4_294_967_296];

/** Of each key id the headers of these counters, in hexadecimal. */
const headers: Readonly<Record<number, string>> = {
  0: '00 01 08ff 090100 09ffff 0a010000 0affffff 0b01000000 0bffffffff 0c0100000000',
  1: '10 11 18ff 190100 19ffff 1a010000 1affffff 1b01000000 1bffffffff 1c0100000000',
  255: '80ff 81ff 88ffff 89ff0100 89ffffff 8aff010000 8affffffff 8bff01000000 8bffffffffff 8cff0100000000',
  256: '900100 910100 980100ff 9901000100 990100ffff 9a0100010000 9a0100ffffff 9b010001000000 9b0100ffffffff 9c01000100000000',
  65535:
    '90ffff 91ffff 98ffffff 99ffff0100 99ffffffff 9affff010000 9affffffffff 9bffff01000000 9bffffffffffff 9cffff0100000000',
  65536:
    'a0010000 a1010000 a8010000ff a90100000100 a9010000ffff aa010000010000 aa010000ffffff ab01000001000000 ab010000ffffffff ac0100000100000000',
  16777215:
    'a0ffffff a1ffffff a8ffffffff a9ffffff0100 a9ffffffffff aaffffff010000 aaffffffffffff abffffff01000000 abffffffffffffff acffffff0100000000',
  16777216:
    'b001000000 b101000000 b801000000ff b9010000000100 b901000000ffff ba01000000010000 ba01000000ffffff bb0100000001000000 bb01000000ffffffff bc010000000100000000',
  4294967295:
    'b0ffffffff b1ffffffff b8ffffffffff b9ffffffff0100 b9ffffffffffff baffffffff010000 baffffffffffffff bbffffffff01000000 bbffffffffffffffff bcffffffff0100000000',
  4294967296:
    'c00100000000 c10100000000 c80100000000ff c901000000000100 c90100000000ffff ca0100000000010000 ca0100000000ffffff cb010000000001000000 cb0100000000ffffffff cc01000000000100000000',
};

export const sframeHeaders: readonly (readonly [keyId: number, counter: number, encoded: string])[] =
  Object.entries(headers).flatMap(([keyId, texts]) =>
    texts.split(' ').map((encoded, i) => [Number(keyId), counters[i] ?? 0, encoded] as const),
  );
