import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** The user and environment of the watched process. */
type Account = Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>

/**
 * Sends `signal` to a server when this process ends in any way: the system then closes the pipe that the watchdog
 * reads. The watchdog has a separate process group, because Ctrl-C is meant for this process.
 *
 * Kill the watchdog only after the server has ended.
 */
export function watchOver(
  pid: number | undefined,
  signal: 'INT' | 'TERM',
  account: Account = {},
): ChildProcess {
  const watch = `cat > /dev/null; kill -${signal} "$1"; kill -CONT "$1"`
  const watchdog = spawn('/bin/sh', ['-c', watch, 'watchdog', String(pid)], {
    ...account,
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  return watchdog
}
