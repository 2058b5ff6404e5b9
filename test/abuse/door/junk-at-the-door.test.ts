import { afterAll, expect, test } from 'vitest'
import { databaseOfThisFile } from '../../support/postgres.ts'
import { doors, junkAtTheDoor, startDoors } from './junk-at-the-door.ts'

/** Seconds only; `npm run abuse` attacks for five minutes, and measures. */
const forMs = 5_000
/** Other tests use the processors, too. */
const p95MsMax = 8_000

const cabinet = await startDoors((await databaseOfThisFile()).url)
afterAll(() => cabinet[Symbol.asyncDispose]())

test.each(doors)(
  '50 junk calls a second to %s turn away no user who signs in, registers, resets a password or administers',
  async (door) => {
    const { failures, genuineCount, p95Ms, junk } = await junkAtTheDoor(cabinet, door, forMs)
    process.stdout.write(
      `${door}: ${genuineCount} genuine calls, p95 ${Math.round(p95Ms)} ms, junk ${JSON.stringify(junk)}\n`,
    )
    expect(failures).toEqual([])
    expect(genuineCount).toBeGreaterThanOrEqual(7)
    expect(p95Ms).toBeLessThan(p95MsMax)
    expect(junk[429]).toBeUndefined()
  },
  60_000,
)
