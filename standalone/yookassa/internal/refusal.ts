import { randomUUID } from 'node:crypto'

const codes = {
  400: 'invalid_request',
  401: 'invalid_credentials',
  404: 'not_found',
  429: 'too_many_requests',
  500: 'internal_server_error',
} as const

/** Why a request was not done, as the provider says it. */
export type Refusal = {
  readonly refused: keyof typeof codes
  readonly description: string
  /** The header or the part of the body that is at fault. */
  readonly parameter?: string
}

export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer
}

/** The body of an answer that is not 200. Its id is there to be told to the provider's support. */
export function errorBodyOf({ refused, description, parameter }: Refusal): object {
  return {
    type: 'error',
    id: randomUUID(),
    code: codes[refused],
    description,
    ...(parameter === undefined ? {} : { parameter }),
  }
}
