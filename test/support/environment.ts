import { homedir } from 'node:os'
import { join } from 'node:path'

/** What a process started by a test inherits: where programs are, and nothing that the caller's shell has set. */
export const inheritedEnvironment = {
  PATH: process.env.PATH ?? '',
  /** Each of hundreds of processes compiles the same files. */
  NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/node-compile'),
} as const

/** Keeps what was built or installed once, outside of the checkout. */
export const cacheFolder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'model-gateway')

/** Whether no developer is there to run a test again. */
export const isOnCi = process.env.CI !== undefined

/** Tries that `test/cabinet/even-answers.test.ts` makes with known addresses, and as many with unknown ones. */
export const evenTryCount = Number(process.env.EVEN_TRIES ?? '40')

/** Holds of the shard that `test/cabinet/moved-holds.test.ts` moves, and how often it moves it. */
export const movedHoldCount = Number(process.env.MOVED_HOLDS ?? '2000')
export const moveCount = Number(process.env.MOVES ?? '3')

/** How often `test/cabinet/redis-failover.test.ts` does each harm to a primary. */
export const failoverCount = Number(process.env.FAILOVERS ?? '1')

/** `SCREENSHOTS=1`: the browser tests take a picture of every page. */
export const takesScreenshots = process.env.SCREENSHOTS !== undefined

/**
 * `npm run test:slow`: what is rare and long, at full size. Every other run has the same tests at the size that finds most
 * faults within minutes; no case is in both.
 */
export const isSlowRun = process.env.SLOW === '1'

/** Sequences of calls that batches are compared in. */
export const batchSequenceCount = Number(process.env.BATCH_SEQUENCES ?? (isSlowRun ? '1000' : '30'))

/** Hundreds of processes compile the same files, those of Vitest, too. */
export function shareCompiledCode(): void {
  process.env.NODE_COMPILE_CACHE ??= inheritedEnvironment.NODE_COMPILE_CACHE
}
