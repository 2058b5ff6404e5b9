import type { ApiProblem } from '../../api/problem.ts'
import type { Bill, ChatRequest, GatewayFailure } from './gateway-call.ts'

/** A question and its result. */
export type Exchange = {
  readonly id: number
  readonly question: string
  readonly answer: string
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  /** The gateway's request id; unless the request was rejected, it has a receipt. */
  readonly requestId: string | undefined
  readonly isAccepted: boolean
  readonly bill: Bill | undefined
  readonly failure: GatewayFailure | undefined
  /** Why no key could be created. */
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
    id,
    question,
    answer: '',
    state: 'running',
    requestId: undefined,
    isAccepted: false,
    bill: undefined,
    failure: undefined,
    problem: undefined,
  }
}

/** The request for another question. Failed exchanges are left out. Pure. */
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
    stream: true,
    stream_options: { include_usage: true },
  }
}
