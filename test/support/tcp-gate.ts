import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import { onTestFinished } from 'vitest'

/** A gate in a TCP connection: what passes is not looked at, only held back. */
export type TcpGate = {
  /** On loopback; clients that go through the gate connect there. */
  readonly port: number
  /** From now on what clients say still arrives, and what the server answers does not. */
  holdAnswers(): void
  /** Lets the answers go on, those held back first. */
  letAnswersPass(): void
  /** From now on what clients say does not arrive. */
  holdCalls(): void
  /** Lets it go on, what was held back first. */
  letCallsPass(): void
  /** From now on an answer passes so much later than it came; 0: at once. */
  delayAnswers(ms: number): void
  /** Breaks every connection, with the answers that were held back; new ones are let through. */
  cut(): void
  /** Breaks every connection, and each new one at once, until `open`. */
  shut(): void
  open(): void
}

/** A gate before the server on `port` of loopback, gone with this test. */
export async function gateOfThisTest(port: number): Promise<TcpGate> {
  const links = new Set<{ readonly client: Socket; readonly server: Socket; readonly late: Transform }>()
  let holds = false
  let isShut = false
  let delayMs = 0
  const cut = () => {
    holds = false
    for (const { client } of links) client.destroy()
  }
  const gate = createServer((client) => {
    if (isShut) {
      client.destroy()
      return
    }
    const late = new Transform({
      transform: (bytes, _encoding, done) =>
        delayMs === 0 ? done(null, bytes) : void setTimeout(done, delayMs, null, bytes),
    })
    const link = { client, server: connect(port, '127.0.0.1'), late }
    links.add(link)
    link.client.pipe(link.server)
    late.pipe(client)
    if (!holds) link.server.pipe(late)
    for (const socket of [link.client, link.server]) {
      socket.on('error', () => undefined)
      socket.once('close', () => {
        links.delete(link)
        link.client.destroy()
        link.server.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(gate, 'listening')
  onTestFinished(() => {
    gate.close()
    for (const { client } of links) client.destroy()
  })
  return {
    port: (gate.address() as AddressInfo).port,
    holdAnswers() {
      holds = true
      for (const { late, server } of links) server.unpipe(late)
    },
    letAnswersPass() {
      holds = false
      for (const { late, server } of links) server.pipe(late)
    },
    holdCalls() {
      for (const { client, server } of links) client.unpipe(server)
    },
    letCallsPass() {
      for (const { client, server } of links) client.pipe(server)
    },
    delayAnswers(ms) {
      delayMs = ms
    },
    cut,
    shut() {
      isShut = true
      cut()
    },
    open() {
      isShut = false
    },
  }
}
