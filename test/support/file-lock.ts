import { open, rm, stat, utimes } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** How often the holder proves that it lives, and the silence after which it counts as dead. */
const beatMs = 1_000
const silenceMs = 15_000
const pollMs = 200

/**
 * Runs `work` while no other process runs its own under the same file, which exists during that time.
 *
 * Saves work, but guarantees nothing: a holder that was frozen for 15 s may wake next to its successor, so
 * each write of `work` must be complete by itself.
 */
export async function withFileLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  while (!(await take(path))) await pause(pollMs)
  const beat = setInterval(() => void touch(path), beatMs)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    await rm(path, { force: true })
  }
}

async function take(path: string): Promise<boolean> {
  const file = await open(path, 'wx').catch(() => undefined)
  if (file !== undefined) {
    await file.close()
    return true
  }
  const last = await stat(path).catch(() => undefined)
  if (last !== undefined && Date.now() - last.mtimeMs > silenceMs) await rm(path, { force: true })
  return false
}

async function touch(path: string): Promise<void> {
  const now = new Date()
  await utimes(path, now, now).catch(() => undefined)
}
