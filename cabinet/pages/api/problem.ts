import type { FieldError, ProblemCode } from '../../api/problem.ts'

/** Why a call failed: the server's explanation, or that there was no response. */
export class ApiProblem extends Error {
  readonly status: number
  /** `network`: no response arrived. `unreadable`: the response was not from our server. */
  readonly code: ProblemCode | 'network' | 'unreadable'
  /** In the language of the page; empty if the server sent none. */
  readonly title: string
  readonly detail: string
  readonly requestId: string | undefined
  readonly errors: readonly FieldError[]
  /** Seconds. */
  readonly retryAfterS: number | undefined
  /** The whole response body, with the members specific to its code. */
  readonly facts: Readonly<Record<string, unknown>>

  constructor(said: Partial<ApiProblem> & Pick<ApiProblem, 'code'>) {
    super(said.title ?? said.code)
    this.name = 'ApiProblem'
    this.code = said.code
    this.status = said.status ?? 0
    this.title = said.title ?? ''
    this.detail = said.detail ?? ''
    this.requestId = said.requestId
    this.errors = said.errors ?? []
    this.retryAfterS = said.retryAfterS
    this.facts = said.facts ?? {}
  }

  /** Whether the same call may succeed in a moment: nothing is wrong with the call itself. */
  get isPassing(): boolean {
    return this.code === 'network' || this.code === 'unreadable' || this.status === 503 || this.status === 502
  }
}

/** Turns anything thrown into a problem that can be shown to users. */
export function asProblem(error: unknown): ApiProblem {
  return error instanceof ApiProblem ? error : new ApiProblem({ code: 'internal' })
}

/** The problem that a response describes. */
export async function readProblem(response: Response): Promise<ApiProblem> {
  const { status, headers } = response
  const retryAfter = Number(headers.get('retry-after'))
  const requestId = headers.get('x-request-id') ?? undefined
  const facts: unknown = await response.json().catch(() => undefined)
  if (!isObject(facts) || typeof facts.code !== 'string')
    return new ApiProblem({ code: 'unreadable', status, requestId })
  return new ApiProblem({
    status,
    facts,
    code: facts.code as ProblemCode,
    requestId: String(facts.request_id ?? requestId),
    title: String(facts.title ?? ''),
    detail: String(facts.detail ?? ''),
    errors: Array.isArray(facts.errors) ? (facts.errors as FieldError[]) : [],
    retryAfterS: retryAfter > 0 ? retryAfter : undefined,
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
