// The map file of the operator as a style of MapLibre. Loaded with the tab when the service has such a file.
import { layers, namedFlavor } from '@protomaps/basemaps';
import { addProtocol, type StyleSpecification } from 'maplibre-gl';
import { FetchSource, PMTiles, Protocol } from 'pmtiles';

const SOURCE = 'protomaps';
const ATTRIBUTION =
  '<a href="https://www.openstreetmap.org/copyright" target="_blank" rel="noopener">© OpenStreetMap</a>';

export interface FileMap {
  style(isDark: boolean): StyleSpecification;
}

/** Rejects when the service does not send the beginning of the file. */
export async function openFileMap(): Promise<FileMap> {
  const url = new URL('map.pmtiles', location.href).href;
  const file = new PMTiles(new FetchSource(url));
  await file.getHeader();
  const protocol = new Protocol();
  protocol.add(file);
  addProtocol('pmtiles', protocol.tile);
  return { style: (isDark) => styleOf(url, isDark) };
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
