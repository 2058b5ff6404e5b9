import { execFile } from 'node:child_process'
import { inheritedEnvironment } from './environment.ts'

/** How a process that ends by itself ended, and its output. */
export type RunEntry = { readonly code: number; readonly stdout: string; readonly stderr: string }

const timeoutMsDefault = 50_000

/** Runs `node <entry> <args>` to its end, with nothing but PATH and `env`; it is ended after `timeoutMs`. */
export function runEntry(
  entry: string,
  env: Readonly<Record<string, string>>,
  {
    args = [],
    timeoutMs = timeoutMsDefault,
  }: { readonly args?: readonly string[]; readonly timeoutMs?: number } = {},
): Promise<RunEntry> {
  return new Promise((resolve) => {
    const options = { env: { ...inheritedEnvironment, ...env }, timeout: timeoutMs } as const
    const child = execFile(process.execPath, [entry, ...args], options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}
