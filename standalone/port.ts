import { once } from 'node:events'
import { createServer } from 'node:net'

/** @throws Error for the user if `port` of the address is taken. Port 0 is never taken. */
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

/** A free port on 127.0.0.1. Another process may still take it first. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port on 127.0.0.1')
  return address.port
}
