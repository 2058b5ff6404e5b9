import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A gate in a TCP connection: what passes is not looked at, only held back. */
export type TcpGate = {
  /** On loopback; whoever shall stand behind the gate connects there. */
  readonly port: number
  /** From now on what clients say still arrives, and what the server answers does not. */
  holdAnswers(): void
  /** Lets the answers go on, those held back first. */
  letAnswersPass(): void
  /** Breaks every connection, with the answers that were held back; new ones are let through. */
  cut(): void
  /** Breaks every connection, and each new one at once, until `open`. */
  shut(): void
  open(): void
}

/** A gate before the server on `port` of loopback, gone with this test. */
export async function gateOfThisTest(port: number): Promise<TcpGate> {
  const links = new Set<{ readonly client: Socket; readonly server: Socket }>()
  let holds = false
  let isShut = false
  const cut = () => {
    holds = false
    for (const { client } of links) client.destroy()
  }
  const gate = createServer((client) => {
    if (isShut) {
      client.destroy()
      return
    }
    const link = { client, server: connect(port, '127.0.0.1') }
    links.add(link)
    link.client.pipe(link.server)
    if (!holds) link.server.pipe(link.client)
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
      for (const { client, server } of links) server.unpipe(client)
    },
    letAnswersPass() {
      holds = false
      for (const { client, server } of links) server.pipe(client)
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
