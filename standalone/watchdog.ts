import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** The user that the watched process runs as, and where it runs. */
type Account = Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>

/**
 * Sends `signal` to a server of ours when this process is gone, however it went: the system then closes the pipe that
 * the watchdog reads. It has its own process group, because Ctrl-C is meant for us.
 *
 * Kill it once the server has ended, not before.
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
