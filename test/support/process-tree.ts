import { execFileSync } from 'node:child_process'

export type RunningProcess = { readonly pid: number; readonly command: string }

/** Every process that runs now because `root` started it, itself or through others. */
export function descendantsOf(root: number | undefined): readonly RunningProcess[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
    .map(([, pid, parent, command = '']) => ({ pid: Number(pid), parent: Number(parent), command }))
  const childrenOf = (pid: number | undefined): readonly RunningProcess[] =>
    all
      .filter(({ parent, command }) => parent === pid && !command.startsWith('ps -eo'))
      .flatMap(({ pid, command }) => [{ pid, command }, ...childrenOf(pid)])
  return childrenOf(root)
}

export function isRunning({ pid }: Pick<RunningProcess, 'pid'>): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
