import { setTimeout as pause } from 'node:timers/promises'
import type { Process } from './processes.ts'
import { post } from './stack.ts'

/** What became of the requests of a load. */
export type Sent = {
  /** Ids of the requests that were answered. */
  readonly answered: readonly string[]
  /** Ids of the requests that were 503 and sent again. Some may have been admitted, for nothing. */
  readonly retried: readonly string[]
  /** What came instead of an answer. */
  readonly failures: readonly string[]
}

/** Requests of one gateway that are under way at any time. */
const lanesPerGateway = 2
/** Between two requests of a lane. */
const restMs = 40
/** As the official SDKs do, a client tries again after a 503: a gateway gives up on a Redis that has had no processor for 100 ms. */
const triesMax = 5
const againMs = 200

/** Asks each of these gateways, again and again until it is stopped, in turn for a plain and a streamed answer. */
export function startLoad(gateways: readonly Process[], key: string, model: string) {
  const answered: string[] = []
  const retried: string[] = []
  const failures: string[] = []
  let isStopped = false

  async function ask(gateway: Process, stream: boolean): Promise<void> {
    for (let tries = 1; ; tries++) {
      const response = await post(gateway, key, {
        model,
        stream,
        messages: [{ role: 'user', content: 'Hi' }],
      })
      const text = await response.text()
      if (response.status === 503 && tries < triesMax) {
        retried.push(response.headers.get('x-gateway-request-id') ?? '')
        await pause(againMs)
        continue
      }
      const isWhole =
        response.status === 200 && (stream ? text.endsWith('data: [DONE]\n\n') : JSON.parse(text).choices)
      if (isWhole) answered.push(response.headers.get('x-gateway-request-id') ?? '')
      else failures.push(`${response.status} ${text}`)
      return
    }
  }

  async function runLane(gateway: Process): Promise<void> {
    for (let n = 0; !isStopped; n++) {
      await ask(gateway, n % 2 === 1).catch((error: Error) => failures.push(String(error.cause ?? error)))
      await pause(restMs)
    }
  }

  const lanes = gateways.flatMap((gateway) => Array.from({ length: lanesPerGateway }, () => runLane(gateway)))
  return {
    async stop(): Promise<Sent> {
      isStopped = true
      await Promise.all(lanes)
      return { answered, retried, failures }
    },
  }
}
