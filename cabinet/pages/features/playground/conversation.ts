import type { ApiProblem } from '../../api/problem.ts'
import type { Bill, ChatRequest, GatewayFailure } from './gateway-call.ts'

/** What was asked, and what came of it. */
export type Exchange = {
  readonly id: number
  readonly question: string
  readonly answer: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  /** Of the gateway; with it, unless the request was refused, there is a receipt. */
  readonly requestId: string | undefined
  readonly isAccepted: boolean
  readonly bill: Bill | undefined
  readonly failure: GatewayFailure | undefined
  /** Why there was no key to ask with. */
  readonly problem: ApiProblem | undefined
}

export type Settings = {
  readonly model: string
  readonly system: string
  readonly temperature: number | undefined
  readonly maxTokens: number | undefined
}

export function newExchange(id: number, question: string): Exchange {
  return {
    ...{ id, question, answer: '', state: 'running', requestId: undefined, isAccepted: false },
    ...{ bill: undefined, failure: undefined, problem: undefined },
  }
}

/** The request that asks a further question. What was never answered is not told again. Pure. */
export function requestOf(
  { model, system, temperature, maxTokens }: Settings,
  before: readonly Exchange[],
  question: string,
): ChatRequest {
  const said = before
    .filter(({ answer }) => answer !== '')
    .flatMap((one) => [
      { role: 'user', content: one.question },
      { role: 'assistant', content: one.answer },
    ])
  return {
    model,
    messages: [
      ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
      ...said,
      { role: 'user', content: question },
    ],
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...{ stream: true, stream_options: { include_usage: true } },
  }
}
