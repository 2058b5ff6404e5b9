import { once } from 'node:events'
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

/** A port of 127.0.0.1 that nobody has now; somebody else may take it before we do. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1')
  return address.port
}
