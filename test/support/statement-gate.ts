import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll } from 'vitest'

/** A gate before Postgres that counts statements. */
export type StatementGate = {
  /** On loopback; whoever shall stand behind the gate connects there. */
  readonly port: number
  /**
   * Lets so many more statements through to Postgres, over all connections. Resolves once the last of them was carried
   * out; its answer, and all that is said after it, goes no further until `open`.
   */
  closeAfter(statementCount: number): Promise<void>
  /** Ends the connections that there are, and lets new ones through. */
  open(): void
}

/** Frontend messages that begin a statement: simple, and parsed. */
const beginnings: ReadonlySet<string> = new Set(['Q', 'P'])
const headBytes = 5

/** A gate before the Postgres of a URL, gone with this test file. */
export async function statementGateOfThisFile(databaseUrl: string): Promise<StatementGate> {
  const { hostname, port } = new URL(databaseUrl)
  const links = new Set<Socket>()
  let left = Number.POSITIVE_INFINITY
  let isClosed = false
  let reached: () => void = () => undefined
  const gate = createServer((client) => {
    const server = connect(Number(port), hostname)
    const count = statementCounter()
    client.on('data', (bytes: Buffer) => {
      if (isClosed) return
      left -= count(bytes)
      server.write(bytes)
    })
    server.on('data', (bytes: Buffer) => {
      if (left > 0) client.write(bytes)
      else if (!isClosed) {
        isClosed = true
        reached()
      }
    })
    for (const socket of [client, server]) {
      links.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => {
        links.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(gate, 'listening')
  afterAll(() => {
    gate.close()
    for (const socket of links) socket.destroy()
  })
  return {
    port: (gate.address() as AddressInfo).port,
    closeAfter(statementCount) {
      left = statementCount
      return new Promise((resolve) => {
        reached = resolve
      })
    },
    open() {
      for (const socket of links) socket.destroy()
      left = Number.POSITIVE_INFINITY
      isClosed = false
    },
  }
}

/** Counts the statements that begin in each piece of what one client says. */
function statementCounter(): (bytes: Buffer) => number {
  let rest = Buffer.alloc(0)
  let isStarted = false
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    let count = 0
    for (;;) {
      // The first message has no type.
      const head = isStarted ? headBytes : headBytes - 1
      if (rest.length < head) return count
      const length = rest.readInt32BE(head - 4) + (isStarted ? 1 : 0)
      if (rest.length < length) return count
      if (isStarted && beginnings.has(String.fromCharCode(rest[0] ?? 0))) count++
      isStarted = true
      rest = rest.subarray(length)
    }
  }
}
