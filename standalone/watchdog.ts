import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** Whose process it is that is watched, and where it runs. */
type Account = Pick<SpawnOptions, 'uid' | 'gid' | 'cwd' | 'env'>

/**
 * Sends `signal` to a server of ours when this process is gone, however it went: the system closes the pipe at which
 * the watchdog reads. It is in a process group of its own, since Ctrl-C is for us.
 *
 * Kill it once the server has ended, and not before: until then somebody must watch.
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
