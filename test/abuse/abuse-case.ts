import type { KeyLimits } from '#core/keys/key-state'
import type { ModelFields, ProviderFields } from '../support/catalog.ts'
import type { Upstream } from '../support/upstream.ts'

/** What an attack has to work with: it knows no more than a client does, and the ports. */
export type Target = {
  readonly port: number
  readonly adminPort: number
  /** API keys of the case's customers by name. */
  readonly keys: Readonly<Record<string, string>>
  /** For how long it goes on; it ends by itself soon after. */
  readonly forMs: number
}

/** What an attack counted. */
export type Figures = Readonly<Record<string, number>>

/** Result of an attack. `breaches` lists what the gateway should not have done. */
export type AttackResult = { readonly figures: Figures; readonly breaches: readonly string[] }

/** A kind of hostile provider. */
export type ProviderKind = Partial<Pick<ProviderFields, 'api' | 'quirks'>>

type CaseCustomer = KeyLimits & {
  /** Default: 1,000 ₽. */
  readonly balanceNano?: bigint
  readonly isRevoked?: boolean
}

/** Charges of a customer once none of its requests is in progress; requests that Redis admitted too late are left out. */
export type Books = {
  readonly balanceNano: bigint
  readonly costsNano: readonly bigint[]
}

/** What one way to attack yielded, in ₽. */
export type WayRow = {
  readonly name: string
  /** What providers did, at the model's price. */
  readonly obtainedRub: number
  readonly paidRub: number
  readonly servedCount: number
  /** Responses with other statuses, by status. */
  readonly refused: Readonly<Record<string, number>>
}

export type AbuseCase = {
  readonly name: string
  /** The guarantee, in one sentence. */
  readonly promise: string
  readonly customers?: Readonly<Record<string, CaseCustomer>>
  /** Models at the hostile provider, whose name there is the same. */
  readonly models?: Readonly<Record<string, ModelFields & { readonly provider?: ProviderKind | undefined }>>
  /** Has the hostile provider answer for them. */
  readonly script?: (provider: Upstream) => void
  /** Maximum growth of the gateway's resident memory during the attack. */
  readonly growthMiBMax: number
  readonly attack: (target: Target) => Promise<AttackResult>
  /** Numbers from its customers' ledger: what was obtained and what was paid, in ₽. */
  readonly readFigures?: (books: Readonly<Record<string, Books>>) => Figures
  /** The table of its ways, each of which has its own customer. */
  readonly readWays?: (books: Readonly<Record<string, Books>>, figures: Figures) => readonly WayRow[]
  /** Errors in a customer's ledger after the attack, or nothing. */
  readonly findFaults?: (books: Readonly<Record<string, Books>>, figures: Figures) => readonly string[]
}
