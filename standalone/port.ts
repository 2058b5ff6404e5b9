import { once } from 'node:events'
import { createServer } from 'node:net'

/** @throws Error with a sentence for people when `port` of the address is taken; 0 never is. */
export async function requireFreePort(port: number, host: string, setting: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `Port ${port} is already in use. Stop the program that uses it, or choose another port with ${setting}=….`,
            )
          : new Error(`Port ${port} cannot be used: ${error.message}`, { cause: error }),
      ),
    )
    probe.listen(port, host, () => probe.close(() => resolve()))
  })
}

/** A port of 127.0.0.1 that is free now; another process may still take it before we do. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1')
  return address.port
}
