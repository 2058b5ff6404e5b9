import { performance } from 'node:perf_hooks'
import { afterEach, expect, test } from 'vitest'
import { countableText, countedLengthMax } from './countable-text.ts'
import { createTokenCounter, startTokenThread, type TokenCounter } from './token-counter.ts'

/** Long enough for a busy machine to start a thread. */
const patientMs = 20_000

const counters: TokenCounter[] = []
const errors: unknown[] = []

function start(options: Partial<Parameters<typeof createTokenCounter>[0]> = {}): TokenCounter {
  const onError = (error: unknown) => void errors.push(error)
  const counter = createTokenCounter({
    startThread: startTokenThread,
    timeoutMs: patientMs,
    onError,
    ...options,
  })
  counters.push(counter)
  return counter
}

afterEach(async () => {
  await Promise.all(counters.splice(0).map((counter) => counter.stop()))
})

test('texts are counted as o200k_base does, whatever they say', async () => {
  const texts = ['Say hello', 'Скажи привет', '', '<|endoftext|>', '\ud800', 'a'.repeat(100_000)]
  const counts = await start().count(texts.map((text) => countableText([text])))
  // 12,500: a hundred thousand characters are runs of 256, 32 tokens each, and a rest of 20.
  expect(counts).toEqual([2, 4, 0, 7, 1, 12_500])
})

test('parts are counted apart, and a text beyond the bound by its beginning', async () => {
  const long = 'word '.repeat((2 * countedLengthMax) / 5)
  const [parts, whole = 0] = (await start().count([countableText(['a', 'a']), countableText([long])])) ?? []
  expect(parts).toBe(2)
  expect(whole / (long.length / 5)).toBeCloseTo(1, 2)
})

test('the event loop stays free while a long text is counted', async () => {
  const counter = start()
  await counter.count([countableText(['warm'])])
  const signs = Array.from({ length: 100_000 }, (_, n) => String.fromCharCode(0x4e00 + ((n * n) % 19_997)))
  const text = countableText([signs.join('')])
  const before = performance.eventLoopUtilization()
  expect((await counter.count([text]))?.[0]).toBeGreaterThan(100_000)
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.5)
})

test('what is not counted in time, or finds the queue full, is left to an estimate, and the others are counted', async () => {
  const hurried = start({ timeoutMs: 1 })
  expect(await hurried.count([countableText(['slow'])])).toBeUndefined()
  const counter = start()
  const megabyte = countableText(['a '.repeat(countedLengthMax / 2)])
  const answers = await Promise.all(Array.from({ length: 6 }, () => counter.count([megabyte])))
  // One is being counted and four wait.
  expect(answers.map((counts) => counts !== undefined)).toEqual([true, true, true, true, true, false])
})

test('a thread that dies is reported, fails its own request only, and is restarted', async () => {
  const threads: ReturnType<typeof startTokenThread>[] = []
  const counter = start({
    startThread() {
      const thread = startTokenThread()
      threads.push(thread)
      return thread
    },
  })
  const killed = counter.count([countableText(['first'])])
  const next = counter.count([countableText(['second'])])
  await threads[0]?.terminate()
  expect(await killed).toBeUndefined()
  expect(await next).toEqual([1])
  expect(threads).toHaveLength(2)
})

test('its idle thread does not keep the process alive', async () => {
  const portCount = () => process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const before = portCount()
  await start().count([countableText(['a text'])])
  expect(portCount()).toBe(before)
})

test('after its stop nothing is counted, and no caller waits', async () => {
  const counter = start()
  const asked = counter.count([countableText(['one'])])
  await counter.stop()
  expect(await asked).toBeUndefined()
  expect(await counter.count([countableText(['two'])])).toBeUndefined()
})
