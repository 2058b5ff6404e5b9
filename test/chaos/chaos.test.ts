import { test } from 'vitest'
import { isSlowRun } from '../support/environment.ts'
import { survive } from './survive.ts'

/**
 * Seeds and seconds of faults, to which the time to start, to recover and to evaluate is added. The two of the slow run
 * cover every kind together.
 */
const storms: readonly (readonly [seed: number, seconds: number])[] = isSlowRun
  ? [
      [1385, 50],
      [5822, 50],
    ]
  : [[5822, 15]]

test.each(storms)(
  'whatever is killed, frozen, flushed or cut off: no ruble is lost, none charged, credited or given back twice (seed %i, %i s)',
  (seed, secondsMax) => survive({ seed, redis: 'single', secondsMax, refundsMin: isSlowRun ? 3 : 1 }),
  240_000,
)
