import { Worker } from 'node:worker_threads'
import type { Measured } from './internal/measure-worker.ts'
import type { MeasurablePrompt } from './measurable-prompt.ts'
import type { ModelFamily } from './model-families.ts'

/** Most text and media of one prompt that is measured, in UTF-16 units: 32 Mi, a body's whole length. */
const promptLengthMax = 32 * 1024 * 1024
/** Most text of one prompt, in UTF-16 units: a tokenizer takes 0.4 µs for each, so this takes 3 s. */
const textLengthMax = 8 * 1024 * 1024
/** Most that waits to be measured, in UTF-16 units. */
const waitingLengthMax = 64 * 1024 * 1024
/** Timeout of a measurement, in ms: the caller could not be served in time otherwise. */
const timeoutMs = 10_000
/** The thread's memory, in MB: two tokenizers take 150, a body and what is decoded of it some hundreds. */
const threadMemoryMb = 768

/** Measures prompts off the event loop: those whose free bound does not fit what their organization has. */
export type PromptMeasurer = {
  /**
   * The tokens of the prompt by each family, `null` if that family publishes nothing that bounds it.
   * `undefined` if it could not be measured in time, or if `owner` already has one being measured: no owner
   * can block the others. Never rejects.
   */
  measure(
    owner: string,
    prompt: MeasurablePrompt,
    families: readonly ModelFamily[],
  ): Promise<Measured | undefined>
  /** Ends the thread; what is not measured yet never will be. */
  stop(): Promise<void>
}

/** A measurer whose thread starts when it is first asked, and starts again after it has died. */
export function createPromptMeasurer(onError: (error: unknown) => void): PromptMeasurer {
  const waiting = new Map<number, (measured?: Measured) => void>()
  const owners = new Set<string>()
  let waitingLength = 0
  let lastId = 0
  let thread: Worker | undefined
  let isStopped = false

  function start(): Worker {
    // It gets none of the process's environment: no secrets.
    const started = new Worker(new URL('./internal/measure-worker.ts', import.meta.url), {
      env: {},
      name: 'prompt-measurer',
      resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
    })
    started.on('message', ({ id, measured }: { id: number; measured: Measured }) =>
      waiting.get(id)?.(measured),
    )
    started.on('error', onError)
    started.once('exit', () => {
      thread = undefined
      for (const end of waiting.values()) end()
    })
    started.unref() // it never keeps the process alive
    return started
  }

  return {
    measure(owner, prompt, families) {
      const length = lengthOf(prompt)
      const isFull = length > promptLengthMax || waitingLength + length > waitingLengthMax
      if (isStopped || isFull || owners.has(owner)) return Promise.resolve(undefined)
      const id = ++lastId
      waitingLength += length
      owners.add(owner)
      thread ??= start()
      thread.postMessage({ id, prompt, families })
      return new Promise((resolve) => {
        const timer = setTimeout(end, timeoutMs)
        function end(measured?: Measured): void {
          clearTimeout(timer)
          if (waiting.delete(id)) {
            waitingLength -= length
            owners.delete(owner)
          }
          resolve(measured)
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

/** Infinite if there is too much text for the time. */
function lengthOf({ texts, media }: MeasurablePrompt): number {
  const textLength = sumOf(texts)
  if (textLength > textLengthMax) return Number.POSITIVE_INFINITY
  return media.reduce((sum, { base64 }) => sum + sumOf(base64 ?? []), textLength)
}

function sumOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0)
}
