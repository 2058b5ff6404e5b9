import type { z } from 'zod'
import type { Access, Locale, Member, Person } from './access.ts'
import type { AnswerShape, AnswerStatus, Contract } from './contract.ts'
import type { Problem } from './problem.ts'

/** An endpoint as a module hands it to the process that serves it. */
export type Endpoint = {
  readonly contract: Contract
  /** Asked only with a caller whom the contract lets in, and with input that it has parsed. */
  readonly handle: (input: never) => Promise<AnyOutput>
}

/** What is known of every call. */
export type Visit = {
  readonly requestId: string
  /** The caller's address; an IPv4 one in plain form. */
  readonly address: string
  /** `User-Agent`, at most 256 characters. */
  readonly agent: string
  /** In which the answer's words are. */
  readonly locale: Locale
  /** The browser, if somebody has signed in with it before. */
  readonly device: Device | undefined
  /** What was proven with this call, in the units of `ProofsOfWork`; 0 without a proof. */
  readonly work: number
}

/** A browser that has signed in before. This opens nothing: failures of others do not count against it. */
export type Device = {
  readonly id: string
  /** Users who have signed in with it, the last one first. */
  readonly userIds: readonly string[]
}

/** The key that a caller gave to a request, and what the request was. */
export type Idempotency = {
  readonly key: string
  /** SHA-256 of method, path and body: the same key with another request is refused. */
  readonly requestHash: Buffer
}

export type Input<C extends Contract> = {
  readonly caller: CallerOf<C['access']>
  readonly visit: Visit
  readonly params: Parsed<C['params']>
  readonly query: Parsed<C['query']>
  readonly body: Parsed<C['body']>
  readonly idempotency: C extends { readonly idempotencyKey: true } ? Idempotency : undefined
  /** What `If-Match` names, without quotes. */
  readonly ifMatch: C extends { readonly ifMatch: true } ? string : undefined
}

/** What is answered, in one of the contract's shapes, or why nothing was done. */
export type Output<C extends Contract> = (Answers<C['answers']> & Extras) | { readonly problem: Problem }

/** What any endpoint answers: whoever serves it goes by the contract. */
export type AnyOutput =
  | ({
      readonly status: AnswerStatus
      readonly body?: unknown
      readonly csv?: CsvRows
      readonly events?: EventFeed
      readonly fileName?: string
    } & Extras)
  | { readonly problem: Problem }

/** Lines of CSV, each a row of cells; the first is the head. */
export type CsvRows = AsyncIterable<readonly (string | number | null)[]>

/** Events for one caller: begins to tell them, and answers what ends that. It is served at once, and left once. */
export type EventFeed = (reader: EventReader) => () => void

/** Who is told events. */
export type EventReader = {
  send(event: ServerEvent): void
  /** There will be no more. */
  end(): void
}

export type ServerEvent = { readonly name: string; readonly data: Readonly<Record<string, string>> }

type Extras = {
  /** Version of what is answered; becomes `ETag`. */
  readonly version?: string
  /** A session that begins with this answer, or the caller's that ends. */
  readonly session?: { readonly token: string; readonly maxAgeS: number } | 'ended'
  /** The user who has just proven everything with this device. */
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

type CallerOf<A extends Access> = A extends { readonly to: 'member' }
  ? Member
  : A extends { readonly to: 'anyone' }
    ? undefined
    : Person

/** Puts a contract and what carries it out together. */
export function endpoint<const C extends Contract, const O extends Output<C>>(
  contract: C,
  handle: (input: Input<C>) => Promise<O>,
): Endpoint {
  return { contract, handle: handle as Endpoint['handle'] }
}
