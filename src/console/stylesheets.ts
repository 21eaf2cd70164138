// Loads a stylesheet that is not needed before the login, such as that of a tab.
import { builtFile } from './built.js';

/**
 * Appends the stylesheet once, and resolves when the browser has it. `source` is one of STYLESHEETS in build.ts, such as
 * `map/maplibre.css`. Rejects when the browser does not get it. The next call tries again.
 */
export function loadStylesheet(source: string): Promise<void> {
  const href = builtFile(source);
  const known = loads.get(href);
  if (known !== undefined) return known;
  const load = append(href).catch((error: unknown) => {
    loads.delete(href);
    throw error;
  });
  loads.set(href, load);
  return load;
}

/** The code of a view with its stylesheet, which is loaded at the same time. Rejects without one of them. */
export async function withStylesheet<View>(source: string, view: Promise<View>): Promise<View> {
  const [loaded] = await Promise.all([view, loadStylesheet(source)]);
  return loaded;
}

/** By address. A stylesheet is there for as long as the page is. */
const loads = new Map<string, Promise<void>>();

function append(href: string): Promise<void> {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = href;
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(`the stylesheet ${href} was not loaded`));
    });
    document.head.append(link);
  });
}
