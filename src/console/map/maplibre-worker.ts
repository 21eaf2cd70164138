// The worker of MapLibre, bundled by itself so that it comes from the origin of the page. It is exported because the
// package calls its files free of side effects, and the bundler leaves out what is only imported.
export { default } from 'maplibre-gl/dist/maplibre-gl-worker.mjs';
