// Writes a map file of one tile, in the format PMTiles, version 3.

/** Bytes of the header, after which the directory begins. */
const HEADER_BYTES = 127;
/** Of a vector tile. */
const EXTENT = 4096;

/** The world at zoom 0, and all of it is water. */
export function waterWorld(): Buffer {
  const tile = tileOf('water');
  // One entry: the difference of its number, its repetitions, its length, and its place plus one.
  const directory = Buffer.concat([1, 0, 1, tile.length, 1].map(varint));
  const metadata = Buffer.from('{"vector_layers":[]}');
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('PMTiles\u0003', 'latin1');
  let at = HEADER_BYTES;
  let field = 8;
  // Directory, metadata, leaf directories and tiles, each with its place and its length.
  for (const { length } of [directory, metadata, { length: 0 }, tile]) {
    header.writeBigUInt64LE(BigInt(at), field);
    header.writeBigUInt64LE(BigInt(length), field + 8);
    at += length;
    field += 16;
  }
  // Numbers of tiles that are addressed, listed and stored.
  for (; field < 96; field += 8) header.writeBigUInt64LE(1n, field);
  header.set([1, 1, 1, 1], 96); // clustered, neither directory nor tile is compressed, vector tiles
  for (const [n, degrees] of [-180, -85, 180, 85].entries()) header.writeInt32LE(degrees * 1e7, 102 + 4 * n);
  return Buffer.concat([header, directory, metadata, tile]);
}

/** A vector tile (Mapbox, version 2) with one layer, of which one polygon covers the tile. */
function tileOf(layer: string): Buffer {
  const zigzag = (value: number) => (value << 1) ^ (value >> 31);
  // Move to a corner, a line of three points, close.
  const geometry = [9, 0, 0, 26, ...[EXTENT, 0, 0, EXTENT, -EXTENT, 0].map(zigzag), 15].flatMap((one) => [
    ...varint(one),
  ]);
  const feature = Buffer.concat([number(3, 3), bytes(4, Buffer.from(geometry))]);
  return bytes(
    3,
    Buffer.concat([number(15, 2), bytes(1, Buffer.from(layer)), bytes(2, feature), number(5, EXTENT)]),
  );
}

// Fields of protocol buffers.
const number = (field: number, value: number) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field: number, content: Buffer) =>
  Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);

function varint(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) out.push((rest & 127) | 128);
  return Buffer.from([...out, rest]);
}
