import { execFile } from 'node:child_process'
import { inheritedEnvironment } from './environment.ts'

/** How a process that ends by itself ended, and what it said. */
export type RunEntry = { readonly code: number; readonly stdout: string; readonly stderr: string }

const timeoutMsDefault = 50_000

/** Runs `node <entry>` to its end, with nothing but PATH and `env`; it is ended after `timeoutMs`. */
export function runEntry(
  entry: string,
  env: Readonly<Record<string, string>>,
  timeoutMs = timeoutMsDefault,
): Promise<RunEntry> {
  return new Promise((resolve) => {
    const options = { env: { ...inheritedEnvironment, ...env }, timeout: timeoutMs } as const
    const child = execFile(process.execPath, [entry], options, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}
