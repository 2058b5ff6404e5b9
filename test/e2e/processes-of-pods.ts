import { readdir, readFile } from 'node:fs/promises'
import { eventually } from './release.ts'

// As root of the machine that runs the node, where the processes of containers are seen.

/** Of `/proc/<pid>/stat`: a hundredth of a second. */
const tickMs = 10

/**
 * Sends SIGKILL to every process of a pod, from outside: nothing is cleaned up, and its containers are
 * restarted.
 */
export async function killInPlace(pod: string): Promise<void> {
  const victims = await processesOf(pod)
  for (const pid of victims) kill(pid)
  await eventually(async () => {
    const left = await runningOf(pod)
    if (left.some((pid) => victims.includes(pid))) throw new Error(`${pod} still runs`)
  })
}

/** Those that have ended with another one that was killed are no error. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Processor time that the processes of a pod have used, with those that they have waited for, and their memory. */
export async function useOf(pod: string): Promise<{ readonly cpuMs: number; readonly memoryBytes: number }> {
  let cpuMs = 0
  let memoryBytes = 0
  for (const pid of await processesOf(pod)) {
    const [, rest = ''] = (await read(`/proc/${pid}/stat`)).split(') ')
    const [user = 0, system = 0, usersOfEnded = 0, systemOfEnded = 0] = rest
      .split(' ')
      .slice(11, 15)
      .map(Number)
    cpuMs += (user + system + usersOfEnded + systemOfEnded) * tickMs
    const kib = /^Pss:\s+(\d+) kB$/m.exec(await read(`/proc/${pid}/smaps_rollup`))?.[1]
    memoryBytes += Number(kib ?? 0) * 1024
  }
  return { cpuMs, memoryBytes }
}

async function processesOf(pod: string): Promise<readonly number[]> {
  const pids = await runningOf(pod)
  if (pids.length === 0)
    throw new Error(`No process of ${pod} is seen here. Run as root on the machine that runs the node.`)
  return pids
}

/** All but the one that holds the pod's namespaces: those whose root has the pod's name as its host's. */
async function runningOf(pod: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger)
  const isOfPod = async (pid: number) => {
    const [host, name] = await Promise.all([
      read(`/proc/${pid}/root/etc/hostname`),
      read(`/proc/${pid}/comm`),
    ])
    return host === pod && name !== 'pause'
  }
  const found = await Promise.all(pids.map(async (pid) => ((await isOfPod(pid)) ? pid : undefined)))
  return found.filter((pid) => pid !== undefined)
}

async function read(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim()
}
