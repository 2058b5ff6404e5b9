import { randomUUID } from 'node:crypto'

const codes = {
  400: 'invalid_request',
  401: 'invalid_credentials',
  403: 'forbidden',
  404: 'not_found',
  429: 'too_many_requests',
  500: 'internal_server_error',
} as const

/** Why a request was rejected, in the provider's format. */
export type Refusal = {
  readonly refused: keyof typeof codes
  readonly description: string
  /** The invalid header or part of the body. */
  readonly parameter?: string
}

export function isRefusal(answer: object): answer is Refusal {
  return 'refused' in answer
}

/** The body of an error response. Its ID is meant for the provider's support. */
export function errorBodyOf({ refused, description, parameter }: Refusal): object {
  return {
    type: 'error',
    id: randomUUID(),
    code: codes[refused],
    description,
    ...(parameter === undefined ? {} : { parameter }),
  }
}
