import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { basename, join } from 'node:path'
import { readStatements } from './statement-reader.ts'

/**
 * A gate between a process and what it changes: Postgres and, where given, an HTTP API. Each statement that may write, and
 * each commit, is a step, taken once it was carried out; each call is two: it was sent and has not arrived, it was done and is not answered.
 */
export type StepGate = {
  /** On loopback; clients that go through the gate connect there. */
  readonly port: number
  /** Where the API is behind the gate. */
  readonly apiUrl: string
  /**
   * Lets so many more steps be taken, and then nothing pass in either direction until `open`; resolves at that moment with
   * the name of the last one.
   *
   * @param about ids: only what names one of them is a step, and what follows it in its transaction.
   */
  closeAfter(stepCount: number, about?: readonly string[]): Promise<string>
  /** Counts from now on, and lets everything pass. */
  count(about?: readonly string[]): void
  /** The steps since then, by name. */
  readonly taken: readonly string[]
  /** Ends the connections that there are, and lets new ones through. */
  open(): void
}

/** What opens a transaction changes nothing: after it is where before it was. */
const opening = /^(?:begin|select set_config)/

const ownFunctions = readdirSync(join(import.meta.dirname, '../../core/db/functions')).map(
  (file) => `${basename(file, '.sql')}(`,
)

/** Whether a statement only reads. Nothing is left of it, and its locks end with its process. Our functions may write. */
function isReading(text: string): boolean {
  return /^\s*select\b/i.test(text) && !ownFunctions.some((call) => text.includes(call))
}

const passedHeaders = ['authorization', 'content-type', 'idempotence-key'] as const

type Steps = ReturnType<typeof countSteps>

/** A gate before a Postgres and an API, gone once it is disposed of. */
export async function openStepGate({
  databaseUrl,
  apiUrl = 'http://127.0.0.1:1',
}: {
  readonly databaseUrl: string
  readonly apiUrl?: string
}): Promise<StepGate & AsyncDisposable> {
  const steps = countSteps()
  const links = new Set<Socket>()
  const keep = (socket: Socket) => {
    links.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => links.delete(socket))
  }
  const postgres = createServer((client) => linkToPostgres(client, new URL(databaseUrl), steps, keep))
  const { origin, pathname } = new URL(apiUrl)
  const api = createHttpServer((request, response) => {
    forward(request, response, origin, steps).catch(() => response.destroy())
  }).on('connection', keep)
  const [port, apiPort] = [await listen(postgres), await listen(api)]
  return {
    port,
    apiUrl: `http://127.0.0.1:${apiPort}${pathname}`,
    closeAfter: steps.closeAfter,
    count: (about) => void steps.closeAfter(Number.POSITIVE_INFINITY, about),
    get taken() {
      return steps.taken()
    },
    open() {
      for (const link of links) link.destroy()
      steps.open()
    },
    async [Symbol.asyncDispose]() {
      for (const link of links) link.destroy()
      await Promise.all([postgres, api].map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function countSteps() {
  let left = Number.POSITIVE_INFINITY
  let isClosed = false
  let ids: readonly string[] | undefined
  let names: string[] = []
  let reached: (name: string) => void = () => undefined
  let beginnings = 0
  return {
    /** Another number each time that counting starts again. */
    beginning: () => beginnings,
    /** Whether the data is about the counted ids. */
    isAbout: (said: string) => ids === undefined || ids.some((id) => said.includes(id)),
    isClosed: () => isClosed,
    take(name: string): void {
      if (isClosed) return
      names.push(name)
      left -= 1
      if (left > 0) return
      isClosed = true
      reached(name)
    },
    taken: () => names,
    closeAfter(stepCount: number, about?: readonly string[]): Promise<string> {
      beginnings += 1
      names = []
      ids = about
      left = stepCount
      return new Promise((resolve) => {
        reached = resolve
      })
    },
    open() {
      left = Number.POSITIVE_INFINITY
      isClosed = false
    },
  }
}

function linkToPostgres(
  client: Socket,
  { hostname, port }: URL,
  steps: Steps,
  keep: (socket: Socket) => void,
) {
  const server = connect(Number(port), hostname)
  const statements = readStatements()
  /** Since when the transaction that is open has had a step, if it has. */
  let stepSince: number | undefined
  client.on('data', (bytes: Buffer) => {
    if (steps.isClosed()) return
    statements.hear(bytes)
    server.write(bytes)
  })
  server.on('data', (bytes: Buffer) => {
    for (const { text, said } of statements.answer(bytes)) {
      if (text.startsWith('begin')) stepSince = undefined
      if (opening.test(text)) continue
      if (stepSince !== steps.beginning() && !(steps.isAbout(said) && text !== 'commit')) continue
      stepSince = text === 'commit' ? undefined : steps.beginning()
      if (!isReading(text)) steps.take(text)
    }
    if (!steps.isClosed()) client.write(bytes)
  })
  for (const socket of [client, server]) {
    keep(socket)
    socket.once('close', () => {
      client.destroy()
      server.destroy()
    })
  }
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  origin: string,
  steps: Steps,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const body = await readAll(request)
  const isStep = steps.isAbout(url + body)
  const pass = (name: string) => {
    if (isStep) steps.take(name)
    return !steps.isClosed()
  }
  if (!pass(`${method} ${url}, sent`)) return
  const passed = passedHeaders.flatMap((name) =>
    headers[name] === undefined ? [] : [[name, String(headers[name])]],
  )
  const answer = await fetch(origin + url, {
    method,
    headers: Object.fromEntries(passed),
    ...(body === '' ? {} : { body }),
  })
  const text = await answer.text()
  if (!pass(`${method} ${url}, done`)) return
  const type = answer.headers.get('content-type') ?? 'application/json'
  response.writeHead(answer.status, { 'content-type': type }).end(text)
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}
