// Measures the memory of a page.
import type { Page } from 'playwright-core';

/** Measures the bytes in use after a collection, in the page and in its workers. */
export async function heapOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  const workers = new Set<string>();
  const answers = new Map<number, (size: number) => void>();
  let asked = 0;
  session.on('Target.attachedToTarget', ({ sessionId }) => workers.add(sessionId));
  session.on('Target.detachedFromTarget', ({ sessionId }) => workers.delete(sessionId)); // as those of the map
  session.on('Target.receivedMessageFromTarget', ({ message }) => {
    const { id, result } = JSON.parse(message) as { id: number; result?: { usedSize?: number } };
    answers.get(id)?.(result?.usedSize ?? 0);
  });
  await session.send('Target.setAutoAttach', {
    ...{ autoAttach: true, waitForDebuggerOnStart: false, flatten: false },
  });
  const tell = (sessionId: string, method: string) =>
    new Promise<number>((resolve, reject) => {
      const id = ++asked;
      answers.set(id, resolve);
      const message = JSON.stringify({ id, method });
      session.send('Target.sendMessageToTarget', { sessionId, message }).catch(reject);
    });
  return async () => {
    await session.send('HeapProfiler.collectGarbage');
    let { usedSize: size } = await session.send('Runtime.getHeapUsage');
    if (workers.size === 0) throw new Error('the radio of the page runs in a worker');
    for (const worker of workers) {
      await tell(worker, 'HeapProfiler.collectGarbage');
      size += await tell(worker, 'Runtime.getHeapUsage');
    }
    return size;
  };
}

/** Elements of the page that are in memory and not in the document, behind a collection. */
export async function goneElementsOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { result } = await session.send('Runtime.evaluate', { expression: 'HTMLElement.prototype' });
  const { objects } = await session.send('Runtime.queryObjects', {
    prototypeObjectId: result.objectId ?? '',
  });
  const counted = await session.send('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    // The prototypes of all kinds of elements are among them.
    functionDeclaration: `function () {
      return this.filter((one) => !Object.hasOwn(one, 'constructor') && !one.isConnected).length;
    }`,
    returnByValue: true,
  });
  await session.detach();
  return counted.result.value;
}
