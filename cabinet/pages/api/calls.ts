import type { z } from 'zod'
import type { Contract } from '../../api/contract.ts'
import type * as catalogue from '../../catalogue/catalogue-contracts.ts'
import type * as keys from '../../keys-api/key-contracts.ts'
import type * as ledger from '../../ledger/ledger-contracts.ts'
import type * as overview from '../../ledger/overview-contracts.ts'
import type * as requests from '../../ledger/request-contracts.ts'
import type * as usage from '../../ledger/usage-contracts.ts'
import type * as organizations from '../../organizations/organization-contracts.ts'
import type * as config from '../../payments/config-contracts.ts'
import type * as payments from '../../payments/payment-contracts.ts'
import type * as auth from '../../people/auth-contracts.ts'
import type * as legal from '../../people/legal-contracts.ts'
import type * as me from '../../people/me-contracts.ts'

/** Types alone: nothing of the contracts is in the pages. A module with endpoints of its own is added here. */
type Modules =
  | (typeof catalogue)[keyof typeof catalogue]
  | (typeof keys)[keyof typeof keys]
  | (typeof ledger)[keyof typeof ledger]
  | (typeof requests)[keyof typeof requests]
  | (typeof usage)[keyof typeof usage]
  | (typeof organizations)[keyof typeof organizations]
  | (typeof config)[keyof typeof config]
  | (typeof overview)[keyof typeof overview]
  | (typeof payments)[keyof typeof payments]
  | (typeof auth)[keyof typeof auth]
  | (typeof legal)[keyof typeof legal]
  | (typeof me)[keyof typeof me]

type AnyContract = Extract<Modules, Contract>

/** An endpoint as its documentation names it, without `/api/v1`: `GET /keys/:key_id`. */
export type Call = NameOf<AnyContract>

/** Those that only read JSON: `/keys/:key_id`. */
export type ReadPath = Call extends infer Name ? (Name extends `GET ${infer Path}` ? Path : never) : never

/** Those that answer a page of a list, with a cursor to the next. */
export type ListPath = ReadPath extends infer Path
  ? Path extends ReadPath
    ? Answer<`GET ${Path}`> extends { readonly data: readonly unknown[]; readonly next_cursor: string | null }
      ? Path
      : never
    : never
  : never

/** What an endpoint is given: what of these its contract has. */
export type Input<Name extends Call> = InputOf<ContractOf<Name>>

/** What it answers when all went well; `undefined` where there is nothing to say. */
export type Answer<Name extends Call> = AnswerOf<ContractOf<Name>['answers']>

type NameOf<C> = C extends {
  readonly method: infer Method extends string
  readonly url: `/api/v1${infer Path}`
}
  ? `${Method} ${Path}`
  : never

type ContractOf<Name extends Call> = AnyContract extends infer C
  ? C extends Contract
    ? NameOf<C> extends Name
      ? C
      : never
    : never
  : never

/** Of each contract by itself: mixed with the parts of all others the union would be too large to be written down. */
type InputOf<C> = C extends unknown
  ? Sent<C, 'params', true> &
      Sent<C, 'query', false> &
      Sent<C, 'body', true> &
      (C extends { readonly idempotencyKey: true } ? { readonly idempotencyKey: string } : unknown) &
      (C extends { readonly ifMatch: true } ? { readonly ifMatch: string } : unknown) & {
        readonly signal?: AbortSignal
      }
  : never

/** A query may be left out altogether unless one of its fields is required. */
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
