import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Stops a postmaster and all of its backends for a while: connections stay open and nothing answers. */
export async function freezePostgres(postmaster: number | undefined, lastsMs: number): Promise<void> {
  if (postmaster === undefined) return
  const pids = [postmaster, ...(await findChildren(postmaster))]
  const thaw = () => signalAll(pids, 'SIGCONT')
  process.once('exit', thaw) // otherwise it could never be ended
  signalAll(pids, 'SIGSTOP')
  await pause(lastsMs)
  thaw()
  process.off('exit', thaw)
}

async function findChildren(parent: number): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid='])
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []))
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // A backend that has ended in the meantime.
    }
  }
}
