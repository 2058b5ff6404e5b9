import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A request to send from there. */
export type DistantRequest = {
  readonly url: string
  readonly key: string
  readonly body: Uint8Array
}

/** The result: the status, and what the provider there received during the request. */
export type DistantOutcome = { readonly status: number; readonly answer: string; readonly received: string }

export type DistantPeers = {
  /** Ends with `/v1`, as a provider's base address does. */
  readonly providerUrl: string
  send(request: DistantRequest): Promise<DistantOutcome>
  stop(): Promise<void>
}

/**
 * A client and a provider in a separate thread, for tests that measure the event loop of a gateway in this
 * one.
 */
export async function startDistantPeers(): Promise<DistantPeers> {
  const thread = new Worker(new URL('./distant-peers-thread.ts', import.meta.url))
  const [providerUrl] = await once(thread, 'message')
  return {
    providerUrl,
    async send(order) {
      thread.postMessage(order)
      const [outcome] = await once(thread, 'message')
      return outcome
    },
    async stop() {
      await thread.terminate()
    },
  }
}
