// What a running service holds after a forced collection, on each of its threads, read through Node's inspector. Pauses
// each thread for some ten milliseconds.
import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Bytes of one thread. */
export interface Held {
  readonly heap: number;
  /** Memory outside of the heap that JavaScript holds, buffers included. */
  readonly external: number;
}

export interface Memory {
  readonly main: Held;
  readonly relay: Held;
}

/** Some garbage is found only behind other garbage. */
const COLLECTIONS = 4;

/** Of a process whose inspector listens at `inspectorUrl`. Nothing stays attached to it. */
export async function readMemory(inspectorUrl: string): Promise<Memory> {
  const socket = new WebSocket(inspectorUrl);
  await once(socket, 'open');
  const main = createDialogue((text) => socket.send(text));
  socket.on('message', (data) => main.hears(String(data)));
  try {
    const [relay] = await Promise.all([
      workerNamed(main, 'relay'),
      main.ask('NodeWorker.enable', { waitForDebuggerOnStart: false }),
    ]);
    return { main: await collected(main), relay: await collected(relay) };
  } finally {
    socket.close();
  }
}

type Dialogue = ReturnType<typeof createDialogue>;
interface Said {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly sessionId: string;
    readonly message: string;
    readonly workerInfo?: { readonly title: string };
  };
  readonly result?: { readonly result?: { readonly value: unknown } };
  readonly error?: { readonly message: string };
}

function createDialogue(send: (text: string) => void) {
  const asked = new Map<number, (answer: Said) => void>();
  const listeners: ((event: Said) => void)[] = [];
  return {
    ask(method: string, params: object = {}): Promise<Said> {
      return new Promise((resolve, reject) => {
        const id = asked.size + 1;
        asked.set(id, (answer) => (answer.error ? reject(new Error(answer.error.message)) : resolve(answer)));
        send(JSON.stringify({ id, method, params }));
      });
    },
    hears(text: string): void {
      const said = JSON.parse(text) as Said;
      if (said.id !== undefined) asked.get(said.id)?.(said);
      else for (const listener of listeners) listener(said);
    },
    listen: (listener: (event: Said) => void) => void listeners.push(listener),
  };
}

/** Workers are reported at once when asked for. */
const WORKER_MS_MAX = 5000;

/** Resolves with a dialogue with that worker of the process, which goes through that with the process. Rejects without one. */
function workerNamed(main: Dialogue, name: string): Promise<Dialogue> {
  return new Promise((resolve, reject) => {
    let worker: Dialogue | null = null;
    let sessionId: string | undefined;
    const timer = setTimeout(() => reject(new Error(`no thread named ${name}`)), WORKER_MS_MAX);
    main.listen(({ method, params }) => {
      if (method === 'NodeWorker.receivedMessageFromWorker' && params?.sessionId === sessionId)
        worker?.hears(params?.message ?? '{}');
      if (method !== 'NodeWorker.attachedToWorker' || !params?.workerInfo?.title.endsWith(` ${name}`)) return;
      sessionId = params.sessionId;
      clearTimeout(timer);
      worker = createDialogue((message) => {
        main.ask('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => {}); // it has ended
      });
      resolve(worker);
    });
  });
}

async function collected(thread: Dialogue): Promise<Held> {
  await thread.ask('HeapProfiler.enable');
  for (let count = 0; count < COLLECTIONS; count++) await thread.ask('HeapProfiler.collectGarbage');
  const { result } = await thread.ask('Runtime.evaluate', {
    expression: 'JSON.stringify(process.memoryUsage())',
    returnByValue: true,
  });
  await thread.ask('HeapProfiler.disable');
  const { heapUsed, external } = JSON.parse(String(result?.result?.value)) as NodeJS.MemoryUsage;
  return { heap: heapUsed, external };
}
