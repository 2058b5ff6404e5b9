import { createServer } from 'node:net'

/** Throws a sentence for people when `port` is taken; 0 is never taken. */
export async function requireFreePort(port: number, setting: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `Port ${port} is in use by another program. Stop it, or choose another with ${setting}=….`,
            )
          : new Error(`Port ${port} cannot be used: ${error.message}`, { cause: error }),
      ),
    )
    probe.listen(port, () => probe.close(() => resolve()))
  })
}
