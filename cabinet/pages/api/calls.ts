import type { z } from 'zod'
import type { Contract } from '../../api/contract.ts'
import type * as activity from '../../billing/activity-contracts.ts'
import type * as ledger from '../../billing/ledger-contracts.ts'
import type * as overview from '../../billing/overview-contracts.ts'
import type * as requests from '../../billing/request-contracts.ts'
import type * as spending from '../../billing/spending-contracts.ts'
import type * as usage from '../../billing/usage-contracts.ts'
import type * as catalog from '../../catalog/catalog-contracts.ts'
import type * as keys from '../../keys/key-contracts.ts'
import type * as legal from '../../legal/legal-contracts.ts'
import type * as notifications from '../../notifications/notification-contracts.ts'
import type * as organizations from '../../organizations/organization-contracts.ts'
import type * as autoTopUp from '../../payments/auto-top-up-contracts.ts'
import type * as config from '../../payments/config-contracts.ts'
import type * as payments from '../../payments/payment-contracts.ts'
import type * as accountExport from '../../people/account-export-contracts.ts'
import type * as auth from '../../people/auth-contracts.ts'
import type * as emailChange from '../../people/email-change-contracts.ts'
import type * as me from '../../people/me-contracts.ts'
import type * as passkeys from '../../people/passkey-contracts.ts'
import type * as team from '../../team/team-contracts.ts'
import type * as tokens from '../../tokens/token-contracts.ts'

/** Types only: no contract code is bundled into the pages. Add each contract module with new endpoints here. */
type Modules =
  | (typeof activity)[keyof typeof activity]
  | (typeof catalog)[keyof typeof catalog]
  | (typeof keys)[keyof typeof keys]
  | (typeof ledger)[keyof typeof ledger]
  | (typeof requests)[keyof typeof requests]
  | (typeof spending)[keyof typeof spending]
  | (typeof usage)[keyof typeof usage]
  | (typeof notifications)[keyof typeof notifications]
  | (typeof organizations)[keyof typeof organizations]
  | (typeof config)[keyof typeof config]
  | (typeof overview)[keyof typeof overview]
  | (typeof payments)[keyof typeof payments]
  | (typeof autoTopUp)[keyof typeof autoTopUp]
  | (typeof auth)[keyof typeof auth]
  | (typeof accountExport)[keyof typeof accountExport]
  | (typeof emailChange)[keyof typeof emailChange]
  | (typeof legal)[keyof typeof legal]
  | (typeof me)[keyof typeof me]
  | (typeof passkeys)[keyof typeof passkeys]
  | (typeof team)[keyof typeof team]
  | (typeof tokens)[keyof typeof tokens]

type AnyContract = Extract<Modules, Contract>

/** An endpoint of the cabinet as the documentation names it, without `/api/v1`: `GET /keys/:key_id`. */
export type Call = NameOf<AnyContract>

/** GET endpoints that return JSON: `/keys/:key_id`. */
export type ReadPath = ReadPathOf<Call>

/** Endpoints that return one page of a list with a cursor to the next. */
export type ListPath = ReadPath extends infer Path
  ? Path extends ReadPath
    ? Answer<`GET ${Path}`> extends { readonly data: readonly unknown[]; readonly next_cursor: string | null }
      ? Path
      : never
    : never
  : never

/** The inputs of an endpoint: those that its contract defines. */
export type Input<Name extends Call> = InputTo<AnyContract, Name>

/** The response of a successful call; `undefined` if it has no body. */
export type Answer<Name extends Call> = AnswerTo<AnyContract, Name>

/** The same for the contracts of another process: `InputTo<OurContracts, 'GET /me'>`. */
export type InputTo<All, Name> = InputOf<ContractOf<All, Name>>

/** The same for the contracts of another process. */
export type AnswerTo<All, Name> = AnswerOf<AnswersIn<ContractOf<All, Name>>>

/** The paths among the GET endpoints with these names. */
export type ReadPathOf<Name> = Name extends `GET ${infer Path}` ? Path : never

/** The names of these contracts. */
export type NameOf<C> = C extends {
  readonly method: infer Method extends string
  readonly url: `/api/v1${infer Path}`
}
  ? `${Method} ${Path}`
  : never

type AnswersIn<C> = C extends { readonly answers: infer Answers } ? Answers : never

type ContractOf<All, Name> = All extends infer C
  ? C extends Contract
    ? NameOf<C> extends Name
      ? C
      : never
    : never
  : never

/** Computed per contract: as one union with all the others the type would be too large for the compiler. */
type InputOf<C> = C extends unknown
  ? Sent<C, 'params', true> &
      Sent<C, 'query', false> &
      Sent<C, 'body', true> &
      (C extends { readonly idempotencyKey: true } ? { readonly idempotencyKey: string } : unknown) &
      (C extends { readonly ifMatch: true } ? { readonly ifMatch: string } : unknown) & {
        readonly signal?: AbortSignal
      }
  : never

/** A query can be omitted unless one of its fields is required. */
type Sent<C, Part extends 'params' | 'query' | 'body', IsRequired extends boolean> = C extends {
  readonly [Each in Part]: infer Shape extends z.ZodType
}
  ? IsRequired extends true
    ? { readonly [Each in Part]: z.input<Shape> }
    : Record<never, never> extends z.input<Shape>
      ? { readonly [Each in Part]?: z.input<Shape> }
      : { readonly [Each in Part]: z.input<Shape> }
  : unknown

type AnswerOf<Shapes> = {
  [Status in keyof Shapes]: Shapes[Status] extends z.ZodType ? z.output<Shapes[Status]> : undefined
}[keyof Shapes]
