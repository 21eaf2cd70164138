// A generated request, and what of it goes over the wire.
import type { Route } from './api.js';
import type { RestScene } from './scene.js';
import { faultOf } from './schema.js';

/** In target, headers and body, `<talkgroup 3>`, `<admin>` and the like stand for what the scene has at that moment. */
export interface Request {
  /** What is wrong with it, in the words of the report. */
  readonly kind: string;
  /** That answers this method and path. null: none is documented. */
  readonly route: Route | null;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** null: none. */
  readonly body: string | null;
  readonly bodyEncoding: BodyEncoding;
  readonly damage: ((body: Buffer) => Buffer) | null;
  /** The body goes in chunks of so many bytes. null: with its length. */
  readonly chunkBytes: number | null;
}

export type BodyEncoding = 'utf8' | 'latin1' | 'utf16le' | 'utf8 with a mark';

/** The request as it goes over the wire now. */
export function bytesOf(request: Request, scene: RestScene): Buffer {
  const body = bodyBytes(request, scene);
  const framing =
    body === null
      ? []
      : request.chunkBytes === null
        ? [`Content-Length: ${body.length}`]
        : ['Transfer-Encoding: chunked'];
  const head = [
    `${request.method} ${filledIn(request.target, scene)} HTTP/1.1`,
    'Host: radio.example',
    ...request.headers.map(([name, value]) => `${name}: ${filledIn(value, callersOf(request, scene))}`),
    ...framing,
    '\r\n',
  ].join('\r\n');
  return Buffer.concat([bytes(head), ...(body === null ? [] : framedAs(body, request.chunkBytes))]);
}

/** No other request needs the user who logs out everywhere. */
function callersOf({ target }: Request, scene: RestScene): RestScene {
  return target.startsWith('/auth/revoke') ? { ...scene, admin: scene.leaver, plain: scene.leaver } : scene;
}

function framedAs(body: Buffer, chunkBytes: number | null): Buffer[] {
  if (chunkBytes === null) return [body];
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes);
    chunks.push(bytes(`${chunk.length.toString(16)}\r\n`), chunk, bytes('\r\n'));
  }
  return [...chunks, bytes('0\r\n\r\n')];
}

/** Without a scene, as far as its schema is concerned: an id is any text. */
export function bodyBytes({ body, bodyEncoding, damage }: Request, scene?: RestScene): Buffer | null {
  if (body === null) return null;
  const filled = scene === undefined ? body : filledIn(body, scene);
  const encoded =
    bodyEncoding === 'utf8 with a mark' ? Buffer.from(`\ufeff${filled}`) : Buffer.from(filled, bodyEncoding);
  return damage === null ? encoded : damage(encoded);
}

function filledIn(text: string, scene: RestScene): string {
  return text.replaceAll(/<(\w+)(?: (\d+))?(?: (\d+))?>/g, (whole, name: string, index = '0', by = '0') => {
    switch (name) {
      case 'admin':
      case 'plain':
        return scene[name].token;
      case 'user':
      case 'talkgroup':
      case 'device':
      case 'emergency':
      case 'holder':
        return scene.idOf(name, Number(index));
      case 'forged':
        return scene.forged[Number(index) % scene.forged.length] ?? '';
      case 'bent':
        return bentToken(scene.admin.token, Number(index), Number(by));
      default:
        return whole;
    }
  });
}

/** One of its letters is another. Not the last few, which hold bits that mean nothing. */
function bentToken(token: string, index: number, by: number): string {
  const at = index % (token.length - 4);
  const letter = token.charAt(at);
  const other = letter === '.' ? '_' : LETTERS.charAt((LETTERS.indexOf(letter) + by) % LETTERS.length);
  return token.slice(0, at) + other + token.slice(at + 1);
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Whether the route's schema has nothing against this body. */
export function keepsTo(route: Route, body: Buffer | null): boolean {
  if (route.body === null) return true;
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(body ?? Buffer.alloc(0)),
    );
    return faultOf(route.body, value, false) === null;
  } catch {
    // Expected: bytes that are no UTF-8, a text that is no JSON.
    return false;
  }
}

export const bytes = (latin1: string) => Buffer.from(latin1, 'latin1');
