// The map file of the operator as a style of MapLibre. Loaded with the tab when the service has such a file.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { layers, namedFlavor } from '@protomaps/basemaps';
import { addProtocol, type StyleSpecification } from 'maplibre-gl';
import { PMTiles, Protocol, ResolvedValueCache, type Source } from 'pmtiles';

const SOURCE = 'protomaps';
const ATTRIBUTION =
  '<a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">© OpenStreetMap</a>';

export interface FileMap {
  style(isDark: boolean): StyleSpecification;
  /** The service has no such file any more, or another one. */
  readonly isBroken: ReadonlySignal<boolean>;
}

/** Rejects when the service does not send the beginning of the file. */
export async function openFileMap(): Promise<FileMap> {
  const url = new URL('map.pmtiles', location.href).href;
  const isBroken = signal(false);
  // The default cache keeps a request that failed, and the part of the map below it would stay empty.
  const file = new PMTiles(sourceAt(url, isBroken), new ResolvedValueCache());
  await file.getHeader();
  const protocol = new Protocol();
  protocol.add(file);
  addProtocol('pmtiles', protocol.tile);
  return { style: (isDark) => styleOf(url, isDark), isBroken };
}

/** A part is asked for again when the service has too much to do. */
const TRIES_MAX = 4;

/** Reads parts of the file. A part that the network lost is missing until the map is moved. */
function sourceAt(url: string, isBroken: Signal<boolean>): Source {
  return {
    getKey: () => url,
    async getBytes(offset, length, signal, etag) {
      const headers = { range: `bytes=${offset}-${offset + length - 1}` };
      for (let tries = 1; ; tries += 1) {
        const response = await fetch(url, { headers, ...(signal && { signal }) });
        const now = response.headers.get('etag') ?? undefined;
        if (response.status === 206 && (etag === undefined || etag === now))
          return { data: await response.arrayBuffer(), ...(now !== undefined && { etag: now }) };
        if (response.status !== 429) isBroken.value = true;
        if (response.status !== 429 || tries === TRIES_MAX)
          throw new Error(`the map file: status ${response.status}`);
        const waitS = Number(response.headers.get('retry-after') ?? 1);
        await new Promise((resolve) => setTimeout(resolve, waitS * 1000));
      }
    },
  };
}

function styleOf(url: string, isDark: boolean): StyleSpecification {
  const [lang = 'en'] = navigator.language.split('-');
  return {
    version: 8,
    sources: { [SOURCE]: { type: 'vector', url: `pmtiles://${url}`, attribution: ATTRIBUTION } },
    layers: layers(SOURCE, namedFlavor(isDark ? 'dark' : 'light'), { lang }).map(withoutIcon),
  };
}

type Layer = StyleSpecification['layers'][number];

/** The icons are images of another server. Their names stay. */
function withoutIcon(layer: Layer): Layer {
  if (layer.type !== 'symbol' || layer.layout === undefined) return layer;
  const kept = Object.entries(layer.layout).filter(([name]) => !name.startsWith('icon-'));
  return { ...layer, layout: Object.fromEntries(kept) };
}
