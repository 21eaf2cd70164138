// Keeps an AudioContext running: phones interrupt it for a call, and browsers suspend it without a user gesture.

const GESTURES = ['pointerdown', 'keydown', 'touchend'] as const;

/** Resumes the context now, and whenever it stops. When the browser asks for a gesture, with the next one. */
export function keepRunning(context: AudioContext): void {
  const resume = () => {
    if (context.state === 'running' || context.state === 'closed') return;
    // Rejected by a closed context. Without a gesture it stays pending until there is one.
    context.resume().catch(() => {});
  };
  const options = { capture: true, passive: true };
  for (const gesture of GESTURES) addEventListener(gesture, resume, options);
  document.addEventListener('visibilitychange', resume);
  context.addEventListener('statechange', () => {
    if (context.state !== 'closed') return resume();
    for (const gesture of GESTURES) removeEventListener(gesture, resume, options);
    document.removeEventListener('visibilitychange', resume);
  });
  resume();
}
