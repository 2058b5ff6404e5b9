import { expect, vi } from 'vitest'
import { noTokens } from '#core/ledger/price'
import type { ModelFields } from './catalog.ts'
import type { Customer } from './customer.ts'
import { type LeavingClient, startChat } from './leaving-client.ts'
import type { Process } from './processes.ts'
import type { RedisView } from './redis-view.ts'
import { settledBooks } from './settled-books.ts'
import { type Stack, untilServed } from './stack.ts'
import { goodStream, type Script, type Step, streamHeaders } from './upstream.ts'

/** Prices of every model of these chats, in nano-rubles per token. */
const inputNano = 10_000n
const outputNano = 30_000n
export const prices = { inputNano, outputNano } as const

export const messages = [{ role: 'user', content: 'Say hello' }]
/** o200k_base: 2 of the text, 4 per message, 3 per request. By characters it would be 10. */
export const promptTokens = 9
/** What providers say, in two pieces. */
export const said = ['Some words ', 'that were delivered.'] as const
/** o200k_base: 6 of both together. By characters they would be 8. */
export const saidTokens = 6
/** The provider's usage of its response, if it reports any. */
export const reported = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 }

/** The bill of so many tokens, as in the ledger. */
export function due(usageSource: 'estimated' | 'provider', input: number, output: number) {
  const costNano = BigInt(input) * inputNano + BigInt(output) * outputNano
  const chargeRows = costNano === 0n ? 0 : 1
  return { costNano, chargeRows, usageSource, tokens: { ...noTokens, input, output } }
}

export const nothing = { costNano: 0n, chargeRows: 0, usageSource: 'none', tokens: noTokens }
export const ofPrompt = due('estimated', promptTokens, 0)
export const ofPromptAndSaid = due('estimated', promptTokens, saidTokens)
export const asReported = due('provider', reported.prompt_tokens, reported.completion_tokens)

/** A stream that starts successfully and continues with the given steps. */
export function streamOf(...steps: readonly Step[]): Script {
  return { headers: streamHeaders, steps: [goodStream.role, ...steps] }
}

export type BilledChat = Customer & { readonly model: string; readonly client: LeavingClient }

/**
 * One streamed request (or the one of `body`) of a new customer for a new model, whose provider follows the
 * script.
 */
export async function startBilledChat(
  stack: Stack,
  gateway: Process,
  script: Script,
  ask: {
    readonly fields?: ModelFields
    readonly body?: object
    readonly headers?: Record<string, string>
  } = {},
): Promise<BilledChat> {
  const model = await stack.createModel({ ...prices, ...ask.fields })
  stack.upstream.answer(model, script)
  const body = { model, messages, stream: true, ...ask.body }
  for (;;) {
    const customer = await stack.createCustomer()
    await untilServed(gateway, customer.key, model)
    const client = startChat(gateway, customer.key, body, ask.headers)
    const isAsked = () => stack.upstream.requestsFor(model).length > 0
    await vi.waitFor(() => expect(isAsked() || client.status() > 0).toBe(true), {
      timeout: 5_000,
      interval: 2,
    })
    // A machine too busy to hear Redis within 100 ms rejects before a provider is asked: not what these tests are about.
    if (isAsked() || client.status() !== 503) return { ...customer, model, client }
  }
}

/** The charge of a customer's only request, once none is in progress. */
export async function onlyBill(stack: Stack, view: RedisView, { organizationId }: Customer) {
  const [only] = (await settledBooks(stack, view, organizationId)).values()
  if (only === undefined) throw new Error('nothing was booked')
  const { costNano, chargeRows, record } = only
  return { ...record, costNano, chargeRows, attempts: record.attempts.map(({ result }) => result) }
}

/** The stream ends with this error. SDKs raise on the frame; a finish reason or [DONE] would make a broken answer look whole. */
export function expectErrorFrame(text: string, code: string): void {
  const last = text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? ''
  expect(JSON.parse(last)).toMatchObject({ error: { code, type: 'api_error', source: 'upstream' } })
  expect(text).toContain(said[1])
  expect(text).not.toContain('[DONE]')
  expect(text).not.toMatch(/"finish_reason":"/)
}

/** The stream ends as a whole one does. */
export function expectComplete(text: string): void {
  expect(text).toMatch(/"finish_reason":"stop"[\s\S]*data: \[DONE\]\n\n$/)
  expect(text).not.toContain('"error"')
}
