import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Throttles } from '../../../api/throttles.ts'

/** Concurrent exports of one user, over all replicas. Each reads Postgres until it ends. */
const perPersonMax = 2
/**
 * An export of a killed replica takes a slot for at most this long after the first of its user. Longer exports exist, and
 * are counted by their own process only.
 */
const rememberedS = 600

const rate = { name: 'exports', count: perPersonMax, perS: rememberedS }

/** Running exports. */
export type ExportSlots = {
  /** Takes a slot of a user until the response or its connection ends. `false`: all slots are taken. */
  take(userId: string, response: ServerResponse): Promise<boolean>
}

/** Counts in this process, and over all replicas in Redis. While Redis is unavailable, each process counts by itself. */
export function createExportSlots(throttles: Throttles): ExportSlots {
  const running = new Map<string, number>()

  function takeHere(userId: string): boolean {
    const count = running.get(userId) ?? 0
    if (count >= perPersonMax) return false
    running.set(userId, count + 1)
    return true
  }

  async function leave(userId: string): Promise<void> {
    const left = (running.get(userId) ?? 1) - 1
    if (left === 0) running.delete(userId)
    else running.set(userId, left)
    await throttles.takeBack(rate, userId)
  }

  return {
    async take(userId, response) {
      if (!takeHere(userId)) return false
      const isTaken = (await throttles.tally(rate, userId)) <= perPersonMax
      if (isTaken) finished(response, () => void leave(userId))
      else await leave(userId)
      return isTaken
    },
  }
}
