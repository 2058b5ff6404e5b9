import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, constants, setPriority } from 'node:os'

/**
 * Keeps every processor busy with work that yields to all other while `measure` runs.
 *
 * A virtual machine's processor that has nothing to do is given back to the host, and comes back late and with cold
 * caches. One request after the other makes it sleep some ten times a request, more often for ours than for a bare
 * proxy: what is measured then is the host. Machines tuned for latency do not let processors sleep (`idle=poll`).
 */
export async function keepAwake<Answer>(measure: () => Promise<Answer>): Promise<Answer> {
  const spinners = Array.from({ length: availableParallelism() }, startSpinner)
  try {
    await Promise.all(spinners.map((spinner) => once(spinner, 'spawn')))
    for (const { pid } of spinners) if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW)
    return await measure()
  } finally {
    for (const spinner of spinners) spinner.kill('SIGKILL')
  }
}

function startSpinner(): ChildProcess {
  return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
}
