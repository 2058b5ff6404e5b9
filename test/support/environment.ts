import { homedir } from 'node:os'
import { join } from 'node:path'

/** What a process started by a test inherits: where programs are, and nothing that the caller's shell has set. */
export const inheritedEnvironment = { PATH: process.env.PATH ?? '' } as const

/** Keeps what was built or installed once, outside of the checkout. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'model-gateway')

/** Whether nobody is there to run a test again. */
export const isOnCi = process.env.CI !== undefined

/** `FUZZED_CALLS`: how often each endpoint of the cabinet is called with random input. */
export const fuzzedCallCount =
  process.env.FUZZED_CALLS === undefined ? undefined : Number(process.env.FUZZED_CALLS)

/** Tries that `test/cabinet/even-answers.test.ts` makes with known addresses, and as many with unknown ones. */
export const evenTryCount = Number(process.env.EVEN_TRIES ?? '40')

/** `SCREENSHOTS=1`: the browser tests take a picture of every page. */
export const takesScreenshots = process.env.SCREENSHOTS !== undefined

/** `EVERY_ORDER=1`: an installation is taken apart in each of 24 orders. */
export const triesEveryOrder = process.env.EVERY_ORDER === '1'

/** `EVERY_STATEMENT=1`: kills also after statements that only read. */
export const killsAfterEveryStatement = process.env.EVERY_STATEMENT === '1'
