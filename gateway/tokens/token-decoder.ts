import { Worker } from 'node:worker_threads'
import type { Decoded } from './internal/decode-worker.ts'

/** Most tokens that wait to be decoded; a second of work. */
const waitingTokensMax = 5_000_000
/** From asking to giving up, in ms. */
const timeoutMs = 3_000
/** The thread's memory, in MB: its tables take 15, a whole body of tokens and its text some hundreds. */
const threadMemoryMb = 512

/** Turns tokens into text off the event loop, for providers that take nothing but text. */
export type TokenDecoder = {
  /** `undefined` if there was no time for it. Never rejects. */
  decode(lists: readonly (readonly number[])[]): Promise<Decoded | undefined>
  /** Ends the thread; what is not decoded yet never will be. */
  stop(): Promise<void>
}

/** A decoder whose thread starts when it is first asked, and starts again after it has died. */
export function createTokenDecoder(onError: (error: unknown) => void): TokenDecoder {
  const waiting = new Map<number, (decoded: Decoded | undefined) => void>()
  let waitingTokens = 0
  let lastId = 0
  let thread: Worker | undefined
  let isStopped = false

  function start(): Worker {
    // It gets none of the process's environment: no secrets.
    const started = new Worker(new URL('./internal/decode-worker.ts', import.meta.url), {
      env: {},
      name: 'token-decoder',
      resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
    })
    started.on('message', ({ id, decoded }: { id: number; decoded: Decoded }) => waiting.get(id)?.(decoded))
    started.on('error', onError)
    started.once('exit', () => {
      thread = undefined
      for (const end of waiting.values()) end(undefined)
    })
    started.unref() // it never keeps the process alive
    return started
  }

  return {
    decode(lists) {
      const count = lists.reduce((sum, { length }) => sum + length, 0)
      if (isStopped || waitingTokens + count > waitingTokensMax) return Promise.resolve(undefined)
      const id = ++lastId
      waitingTokens += count
      thread ??= start()
      thread.postMessage({ id, lists })
      return new Promise((resolve) => {
        const timer = setTimeout(end, timeoutMs)
        function end(decoded?: Decoded): void {
          clearTimeout(timer)
          if (waiting.delete(id)) waitingTokens -= count
          resolve(decoded)
        }
        waiting.set(id, end)
      })
    },
    async stop() {
      isStopped = true
      await thread?.terminate()
    },
  }
}
