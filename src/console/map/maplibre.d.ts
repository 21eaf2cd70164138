// Declares the file of MapLibre that has no types of its own.
declare module 'maplibre-gl/dist/maplibre-gl-worker.mjs' {
  const worker: unknown;
  export default worker;
}
