// Keeps frames in pages of bytes, the oldest first. It never needs more memory than it was given.

/** A frame as the radio gave it to the app. `sequence` is unwrapped. `heardAtMs` is monotonic. */
export type RecalledFrame = { sequence: number; payload: Uint8Array; heardAtMs: number };

export type Pages = {
  /** Of all pages, at most what it was given. */
  readonly bytes: number;
  /** When the oldest frame was heard (ms). null: there is none. */
  readonly oldestMs: number | null;
  /** Copies the frame. When there is no room, the oldest page goes. A frame that is larger than a page is not kept. */
  push(burst: number, sequence: number, heardAtMs: number, payload: Uint8Array): boolean;
  /** Copies of the frames of a burst. */
  read(burst: number): RecalledFrame[];
  /** Removes the frames that were heard at this time (ms) or before. */
  removeUntil(ms: number): void;
  /** Overwrites all frames of these bursts. */
  erase(bursts: ReadonlySet<number>): void;
  /** Overwrites all frames. */
  eraseAll(): void;
};

type Page = { bytes: Uint8Array; view: DataView; from: number; to: number };

/** 128 of them are 4 MiB. One has 6 s of a talker with 64 bytes in a frame. */
const PAGE_BYTES = 32_768;
/** Burst (4 bytes), length (2), sequence (8), time (8). The payload follows. */
const HEAD_BYTES = 22;
const [LENGTH_AT, SEQUENCE_AT, TIME_AT] = [4, 6, 14];
/** In place of the burst of a frame that was erased. */
const ERASED = 0;

/** Creates no page yet. Calls `removed` with the burst of each frame that goes, but not of those that are erased. */
export function createPages(bytesMax: number, removed: (burst: number) => void): Pages {
  const pagesMax = Math.floor(bytesMax / PAGE_BYTES);
  let pages: Page[] = [];

  return {
    get bytes() {
      return pages.length * PAGE_BYTES;
    },
    get oldestMs() {
      const [page] = pages;
      return page === undefined ? null : page.view.getFloat64(page.from + TIME_AT);
    },
    push(burst, sequence, heardAtMs, payload) {
      const length = HEAD_BYTES + payload.length;
      if (length > PAGE_BYTES || pagesMax === 0) return false;
      const page = pageFor(length);
      const { bytes, view, to } = page;
      view.setUint32(to, burst);
      view.setUint16(to + LENGTH_AT, payload.length);
      view.setFloat64(to + SEQUENCE_AT, sequence);
      view.setFloat64(to + TIME_AT, heardAtMs);
      bytes.set(payload, to + HEAD_BYTES);
      page.to = to + length;
      return true;
    },
    read(wanted) {
      const frames: RecalledFrame[] = [];
      for (const page of pages)
        for (let at = page.from; at < page.to; at = nextOf(page, at)) {
          const { view, bytes } = page;
          if (view.getUint32(at) !== wanted) continue;
          frames.push({
            sequence: view.getFloat64(at + SEQUENCE_AT),
            payload: bytes.slice(at + HEAD_BYTES, nextOf(page, at)),
            heardAtMs: view.getFloat64(at + TIME_AT),
          });
        }
      return frames;
    },
    removeUntil(ms) {
      for (let page = pages[0]; page !== undefined; page = pages[0]) {
        while (page.from < page.to) {
          if (page.view.getFloat64(page.from + TIME_AT) > ms) return;
          removeFirst(page);
        }
        pages.shift();
      }
    },
    erase(bursts) {
      for (const page of pages)
        for (let at = page.from; at < page.to; at = nextOf(page, at)) {
          if (!bursts.has(page.view.getUint32(at))) continue;
          page.view.setUint32(at, ERASED);
          page.bytes.fill(0, at + HEAD_BYTES, nextOf(page, at));
        }
    },
    eraseAll() {
      for (const { bytes } of pages) bytes.fill(0);
      pages = [];
    },
  };

  function pageFor(length: number): Page {
    const last = pages.at(-1);
    if (last !== undefined && last.to + length <= PAGE_BYTES) return last;
    if (pages.length === pagesMax) {
      const [oldest] = pages;
      while (oldest !== undefined && oldest.from < oldest.to) removeFirst(oldest);
      pages.shift();
    }
    const bytes = new Uint8Array(PAGE_BYTES);
    const page = { bytes, view: new DataView(bytes.buffer), from: 0, to: 0 };
    pages.push(page);
    return page;
  }

  function removeFirst(page: Page): void {
    const burst = page.view.getUint32(page.from);
    page.from = nextOf(page, page.from);
    if (burst !== ERASED) removed(burst);
  }
}

const nextOf = ({ view }: Page, at: number): number => at + HEAD_BYTES + view.getUint16(at + LENGTH_AT);
