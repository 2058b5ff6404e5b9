import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'

/** Concurrent exports of one user. Each reads Postgres until it ends. */
const perPersonMax = 2

/** Running exports of this process. */
export type ExportSlots = {
  /** Takes a slot of a user until the response or its connection ends. `false`: all slots are taken. */
  take(userId: string, response: ServerResponse): boolean
}

export function createExportSlots(): ExportSlots {
  const running = new Map<string, number>()
  return {
    take(userId, response) {
      const count = running.get(userId) ?? 0
      if (count >= perPersonMax) return false
      running.set(userId, count + 1)
      finished(response, () => {
        const left = (running.get(userId) ?? 1) - 1
        if (left === 0) running.delete(userId)
        else running.set(userId, left)
      })
      return true
    },
  }
}
