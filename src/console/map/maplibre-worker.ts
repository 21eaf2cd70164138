// The worker of MapLibre, bundled by itself so that it comes from the origin of the page.
import 'maplibre-gl/dist/maplibre-gl-worker.mjs';
