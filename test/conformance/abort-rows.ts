import type { RequestOutcome } from '#core/ledger/request-record'
import { said } from '../support/billed-chat.ts'
import type { FaultyApi, SpokenStep, WrittenStep } from './fault-cases.ts'
import type { Mode } from './fault-clients.ts'

/** What a request owes that came to no orderly end. */
export type Owed =
  | 'nothing'
  /** The prompt, estimated. */
  | 'prompt'
  /** Prompt and delivered content, estimated. */
  | 'delivered'
  /** As the provider counted it. */
  | 'usage'
  /** What it counted, but no more output than the limit. */
  | 'limit'
  /** What it counted, but no more prompt than there was. */
  | 'bound'
  /** The prompt and content up to the limit, estimated. */
  | 'cut at the limit'

/** What happens to a request that is incomplete, or whose count is wrong, and what is charged for it. */
export type AbortRow = {
  readonly name: string
  readonly mode: Mode
  /** Those whose providers can do so; all, where there is no list. */
  readonly apis?: readonly FaultyApi[]
  /** Until the client does its part. `undefined`: not even a status. */
  readonly before?: readonly WrittenStep[]
  /** What the client does: stays, leaves once it has read the content of `before`, or as soon as the provider was asked. */
  readonly client: 'stays' | 'leaves' | 'waits for a while'
  readonly after: readonly WrittenStep[]
  /** Of the provider, where it is not 200. */
  readonly status?: number
  /** Closing its connection ends what a provider generates, and its bill: it is closed at once. */
  readonly stops?: true
  readonly requestMs?: number
  readonly owed: Owed
  readonly ends: Ending
}

/** How the record has it. */
type Ending = {
  readonly outcome: RequestOutcome
  /** That of a request that was too late for its client's leaving. */
  readonly orElse?: RequestOutcome
  readonly status: number
  readonly errorCode?: string
  /** Of its only attempt. */
  readonly result?: string
}

type LeavingRow = Omit<AbortRow, 'client' | 'ends'> & { readonly ends?: Ending }

const left: Ending = { outcome: 'client_gone', status: 499, result: 'answered' }
const completed: Ending = { outcome: 'completed', status: 200, result: 'answered' }
const tooLate: Ending = { outcome: 'failed', status: 504, errorCode: 'upstream_timeout' }
const cutByTime: Ending = { outcome: 'upstream_cut', status: 200, errorCode: 'upstream_timeout' }

const begin: SpokenStep = { role: true }
const [first, second] = said.map((say): SpokenStep => ({ say }))
if (first === undefined || second === undefined) throw new Error('there are two pieces')
const words: readonly SpokenStep[] = [first, second]
const counted: readonly SpokenStep[] = [{ finish: 'stop', usage: true }, { done: true }]
const uncounted: readonly SpokenStep[] = [{ finish: 'stop' }, { done: true }]
const whole: readonly SpokenStep[] = [begin, ...words, ...counted]
const text = said.join('')
const overload: SpokenStep = { error: { message: 'It is overloaded.' }, as: 529 }
/** Far more than the limit of these models. */
const endless = Array.from({ length: 40 }, (): SpokenStep => ({ say: 'word '.repeat(20) }))

/** Rows of clients that leave. The record has that, unless a row has something else. */
function leaving(rows: readonly LeavingRow[]): readonly AbortRow[] {
  return rows.map((row) => ({ client: 'leaves', ends: left, ...row }))
}

/** An answer that no client waits for is read to its end. */
const abandoned = leaving([
  {
    name: 'left before an answer, which then comes',
    mode: 'stream',
    after: whole,
    owed: 'usage',
  },
  {
    name: 'left before an answer, which then comes',
    mode: 'plain',
    after: [{ plain: text }],
    owed: 'usage',
  },
  {
    name: 'left before an answer, which then has no count',
    mode: 'stream',
    after: [begin, ...words, ...uncounted],
    owed: 'delivered',
  },
  {
    name: 'left before an answer, which then has no count',
    mode: 'plain',
    after: [{ plain: text, usage: null }],
    owed: 'delivered',
  },
  {
    name: 'left before an answer, in whose place an error comes',
    mode: 'stream',
    status: 500,
    after: [overload],
    owed: 'nothing',
    ends: { ...left, result: 'status_500' },
  },
  {
    name: 'left before an answer, in whose place an error comes',
    mode: 'plain',
    status: 500,
    after: [overload],
    owed: 'nothing',
    ends: { ...left, result: 'status_500' },
  },
  {
    name: 'left between status and content, which then comes',
    mode: 'stream',
    before: [begin],
    after: [...words, ...counted],
    owed: 'usage',
  },
  {
    name: 'left between status and content, in whose place the connection breaks',
    mode: 'stream',
    before: [begin],
    after: [{ cut: 'fin' }],
    owed: 'prompt',
    ends: { ...left, result: 'cut' },
  },
  {
    name: 'left between status and answer, which then comes',
    mode: 'plain',
    before: [],
    after: [{ plain: text }],
    owed: 'usage',
  },
  {
    name: 'left in the content, whose end then comes',
    mode: 'stream',
    before: [begin, first],
    after: [second, ...counted],
    owed: 'usage',
  },
  {
    name: 'left in the content, whose end then has no count',
    mode: 'stream',
    before: [begin, first],
    after: [second, ...uncounted],
    owed: 'delivered',
  },
  {
    name: 'left in the content, whose end then counts more than the limit',
    mode: 'stream',
    before: [begin, first],
    after: [second, { finish: 'stop', usage: 'beyond the limit' }, { done: true }],
    owed: 'limit',
  },
  {
    name: 'left in the content, which is then cut',
    mode: 'stream',
    before: [begin, ...words],
    after: [{ cut: 'fin' }],
    owed: 'delivered',
    ends: { ...left, result: 'cut' },
  },
  {
    name: 'left in the content, which an error then ends',
    mode: 'stream',
    before: [begin, ...words],
    after: [overload],
    owed: 'delivered',
    ends: { ...left, result: 'error_event' },
  },
  {
    name: 'left as the count came: in time or too late',
    mode: 'stream',
    before: [begin, ...words, ...counted],
    after: [],
    owed: 'usage',
    ends: { ...left, orElse: 'completed' },
  },
])

/** A client that sets its own time, `x-gateway-timeout-ms`, gets an error; the answer is read without it, too. */
const hurried: readonly AbortRow[] = [
  {
    name: 'had no time before an answer, which then comes',
    mode: 'stream',
    client: 'waits for a while',
    after: whole,
    owed: 'usage',
    ends: { ...tooLate, result: 'answered' },
  },
  {
    name: 'had no time before an answer, which then comes',
    mode: 'plain',
    client: 'waits for a while',
    after: [{ plain: text }],
    owed: 'usage',
    ends: { ...tooLate, result: 'answered' },
  },
  {
    name: 'had no time for the end of the content, which then comes',
    mode: 'stream',
    before: [begin, first],
    client: 'waits for a while',
    after: [second, ...counted],
    owed: 'usage',
    ends: { ...cutByTime, result: 'answered' },
  },
  {
    name: 'had no time for the end of the content, which then has no count',
    mode: 'stream',
    before: [begin, first],
    client: 'waits for a while',
    after: [second, ...uncounted],
    owed: 'delivered',
    ends: { ...cutByTime, result: 'answered' },
  },
]

/** Where it ends generation and bill, the connection is closed at once. */
const stopped = leaving([
  {
    name: 'left before an answer, at a provider that then stops',
    mode: 'stream',
    apis: ['OpenAI'],
    stops: true,
    after: whole,
    owed: 'prompt',
    ends: { ...left, result: 'client_gone' },
  },
  {
    name: 'left before an answer, at a provider that then stops',
    mode: 'plain',
    apis: ['OpenAI'],
    stops: true,
    after: [{ plain: text }],
    owed: 'prompt',
    ends: { ...left, result: 'client_gone' },
  },
  {
    name: 'left in the content, at a provider that then stops',
    mode: 'stream',
    apis: ['OpenAI'],
    stops: true,
    before: [begin, ...words],
    after: counted,
    owed: 'delivered',
  },
])

/** The client is there to the end. */
const served: readonly AbortRow[] = [
  {
    name: 'was given no more time by its route, in the content',
    mode: 'stream',
    requestMs: 4_000,
    before: [begin, ...words],
    client: 'stays',
    after: [{ stall: true }],
    owed: 'delivered',
    ends: { ...cutByTime, result: 'deadline' },
  },
  {
    name: 'was counted more than the limit',
    mode: 'stream',
    before: [begin, ...words],
    client: 'stays',
    after: [{ finish: 'stop', usage: 'beyond the limit' }, { done: true }],
    owed: 'limit',
    ends: completed,
  },
  {
    name: 'was counted more than the limit',
    mode: 'plain',
    client: 'stays',
    after: [{ plain: text, usage: 'beyond the limit' }],
    owed: 'limit',
    ends: completed,
  },
  {
    name: 'was counted more prompt than there was',
    mode: 'stream',
    before: [begin, ...words],
    client: 'stays',
    after: [{ finish: 'stop', usage: 'beyond the prompt' }, { done: true }],
    owed: 'bound',
    ends: completed,
  },
  {
    name: 'was counted more prompt than there was',
    mode: 'plain',
    client: 'stays',
    after: [{ plain: text, usage: 'beyond the prompt' }],
    owed: 'bound',
    ends: completed,
  },
  {
    name: 'was written on and on to',
    mode: 'stream',
    before: [begin, ...endless],
    client: 'stays',
    after: [{ stall: true }],
    owed: 'cut at the limit',
    ends: completed,
  },
]

export const abortRows: readonly AbortRow[] = [...abandoned, ...hurried, ...stopped, ...served]
