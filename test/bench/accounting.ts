import { readdirSync, readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'

/**
 * CPU time of a process so far, all threads, in ms, by the kernel's scheduler (`/proc/<pid>/task/<tid>/schedstat`,
 * first field: ns on a processor). `/proc/<pid>/stat` has the same sum in ticks of 10 ms, too coarse for a short run.
 */
export function readCpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`
  const ns = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]),
  )
  return ns.reduce((sum, each) => sum + each, 0) / 1e6
}

/** Resident memory of a process, in MiB. */
export function readRssMiB(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  return (pages * 4096) / 1024 / 1024
}

/** Time that Redis has spent in scripts so far, in µs, by its own accounting. */
export async function readScriptUs(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats')
  return [...stats.matchAll(/^cmdstat_(?:eval|fcall)\w*:.*?usec=(\d+)/gm)].reduce(
    (sum, [, usec]) => sum + Number(usec),
    0,
  )
}
