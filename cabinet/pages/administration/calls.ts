import type { UseQueryResult } from '@tanstack/react-query'
import type * as account from '../../administrators/administrator-contracts.ts'
import type { Contract } from '../../api/contract.ts'
import type * as approvals from '../../approvals/approval-contracts.ts'
import type * as totpResets from '../../approvals/totp-reset-contracts.ts'
import type * as models from '../../catalog/model-administration-contracts.ts'
import type * as prices from '../../catalog/price-administration-contracts.ts'
import type * as providers from '../../catalog/provider-administration-contracts.ts'
import type * as legal from '../../legal/legal-administration-contracts.ts'
import type * as operations from '../../operations/operation-contracts.ts'
import type * as payments from '../../payments/payment-contracts.ts'
import type * as support from '../../support/administration-contracts.ts'
import type * as customers from '../../support/customer-contracts.ts'
import { callAny, type Versioned } from '../api/call.ts'
import type { AnswerTo, InputTo, NameOf, ReadPathOf } from '../api/calls.ts'
import { readAnyAgain, useReadAny, useReadListAny, useReadVersionedAny } from '../api/queries.ts'

/** Types only, as in `api/calls.ts`. Add each contract module with endpoints of administration here. */
type Modules =
  | (typeof account)[keyof typeof account]
  | (typeof approvals)[keyof typeof approvals]
  | (typeof totpResets)[keyof typeof totpResets]
  | (typeof legal)[keyof typeof legal]
  | (typeof models)[keyof typeof models]
  | (typeof prices)[keyof typeof prices]
  | (typeof providers)[keyof typeof providers]
  | (typeof operations)[keyof typeof operations]
  | (typeof payments)[keyof typeof payments]
  | (typeof support)[keyof typeof support]
  | (typeof customers)[keyof typeof customers]

type AnyContract = Extract<Modules, Contract>

type Call = NameOf<AnyContract>
type ReadPath = ReadPathOf<Call>

/** The response of a successful call of administration. */
export type Answer<Name extends Call> = AnswerTo<AnyContract, Name>
type Input<Name extends Call> = InputTo<AnyContract, Name>
type Reading<Path extends ReadPath> = Omit<Input<`GET ${Path}`>, 'signal'>

type Given<Input> = Record<never, never> extends Input ? [input?: Input] : [input: Input]

/** Calls an endpoint of administration. @throws ApiProblem */
export async function call<Name extends Call>(
  name: Name,
  ...[input]: Given<Input<Name>>
): Promise<Answer<Name>> {
  return (await callAny(name, input)).body
}

/** Reads an endpoint of administration, as `useRead` does in the cabinet. */
export function useRead<Path extends ReadPath>(
  path: Path,
  ...[input]: Given<Reading<Path>>
): UseQueryResult<Answer<`GET ${Path}`>> {
  return useReadAny(path, input)
}

/** Like `useRead`, with the version that a change needs as `ifMatch`. */
export function useReadVersioned<Path extends ReadPath>(
  path: Path,
  ...[input]: Given<Reading<Path>>
): UseQueryResult<Versioned<Answer<`GET ${Path}`>>> {
  return useReadVersionedAny(path, input)
}

/** Reads a list of administration page by page, as `useReadList` does in the cabinet. */
export function useReadList<Path extends ReadPath>(path: Path, ...[input]: Given<Reading<Path>>) {
  return useReadListAny<Answer<`GET ${Path}`>>(path, input)
}

/** Reads these endpoints again wherever they are shown. */
export async function readAgain(...paths: readonly ReadPath[]): Promise<void> {
  await readAnyAgain(...paths)
}
