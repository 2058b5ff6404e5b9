import type { z } from 'zod'
import type { Access, Administrator, Locale, Member, OrganizationCaller, Person } from './access.ts'
import type { AnswerShape, AnswerStatus, Contract } from './contract.ts'
import type { Problem } from './problem.ts'

/** An endpoint that a module passes to the process that serves it. */
export type Endpoint = {
  readonly contract: Contract
  /** Called only after the contract has accepted the caller and parsed the input. */
  readonly handle: (input: never) => Promise<AnyOutput>
}

/** Known of every call. */
export type Visit = {
  readonly requestId: string
  /** The organization that the call names. Only for endpoints of members is it known to be the caller's. */
  readonly organizationId: string | undefined
  /** The caller's session; `undefined`: none was read, or a token was used. */
  readonly sessionId: string | undefined
  /** The caller's address. An IPv4 address is in dotted form. */
  readonly address: string
  /** `User-Agent`, at most 256 characters. */
  readonly agent: string
  /** The language of the response. */
  readonly locale: Locale
  /** The browser, if a user has signed in with it before. */
  readonly device: Device | undefined
  /** The amount of work proven with this call, in the units of `ProofsOfWork`; 0 without a proof. */
  readonly work: number
}

/** A browser that has signed in before. It grants no access. Failures of other browsers do not count against it. */
export type Device = {
  readonly id: string
  /** Users who have signed in with it, the most recent first. */
  readonly userIds: readonly string[]
}

/** The caller's idempotency key, and the hash of the request. */
export type Idempotency = {
  readonly key: string
  /** SHA-256 of method, path and body. The same key with another request is rejected. */
  readonly requestHash: Buffer
}

export type Input<C extends Contract> = {
  readonly caller: CallerOf<C['access']>
  readonly visit: Visit
  readonly params: Parsed<C['params']>
  readonly query: Parsed<C['query']>
  readonly body: Parsed<C['body']>
  readonly idempotency: C extends { readonly idempotencyKey: true } ? Idempotency : undefined
  /** The ETag of `If-Match`, without quotes. */
  readonly ifMatch: C extends { readonly ifMatch: true } ? string : undefined
}

/** A response in one of the contract's shapes, or the reason for changing nothing. */
export type Output<C extends Contract> = (Answers<C['answers']> & Extras) | { readonly problem: Problem }

/** The response of any endpoint. The server reads its shape from the contract. */
export type AnyOutput =
  | ({
      readonly status: AnswerStatus
      readonly body?: unknown
      readonly csv?: CsvRows
      readonly events?: EventFeed
      readonly fileName?: string
    } & Extras)
  | { readonly problem: Problem }

/** Lines of CSV, each a row of cells. The first line has the column names. */
export type CsvRows = AsyncIterable<readonly (string | number | null)[]>

/** Starts to send events to one caller, and returns a function that stops. Each feed is started and stopped once. */
export type EventFeed = (reader: EventReader) => () => void

/** A subscriber to events. */
export type EventReader = {
  send(event: ServerEvent): void
  /** Ends the stream. */
  end(): void
}

export type ServerEvent = { readonly name: string; readonly data: Readonly<Record<string, string>> }

type Extras = {
  /** Version of the response; becomes `ETag`. */
  readonly version?: string
  /** The session that begins with this response. `ended`: the caller's session ends. */
  readonly session?: { readonly token: string; readonly maxAgeS: number } | 'ended'
  /** The user who has just passed all factors on this device. */
  readonly knownTo?: string
}

type Answers<Shapes> = {
  [Status in keyof Shapes]: Shapes[Status] extends AnswerShape
    ? { readonly status: Status } & BodyOf<Shapes[Status]>
    : never
}[keyof Shapes]

type BodyOf<Shape extends AnswerShape> = Shape extends z.ZodType
  ? { readonly body: z.input<Shape> }
  : Shape extends 'csv'
    ? { readonly csv: CsvRows; readonly fileName: string }
    : Shape extends 'events'
      ? { readonly events: EventFeed }
      : unknown

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

type CallerOf<A extends Access> = A extends { readonly to: 'member'; readonly tokens: true }
  ? OrganizationCaller
  : A extends { readonly to: 'member' }
    ? Member
    : A extends { readonly to: 'administrator' }
      ? Administrator
      : A extends { readonly to: 'anyone' }
        ? undefined
        : Person

/** Combines a contract with its handler. */
export function endpoint<const C extends Contract, const O extends Output<C>>(
  contract: C,
  handle: (input: Input<C>) => Promise<O>,
): Endpoint {
  return { contract, handle: handle as Endpoint['handle'] }
}
