import { z } from 'zod'
import { secretlessProviderSpec } from '#crds/model-provider'
import { resourceName } from '#crds/resource'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'
import { pageLimit, pageOf } from '../api/page.ts'
import {
  administratorAgain,
  kubernetesOwner,
  nameCursor,
  nameFilter,
  pathName,
  reason,
  troubles,
} from './model-administration-contracts.ts'

const administrator = { to: 'administrator' } as const

export const providerPath = z.strictObject({ provider: pathName })

const administeredProvider = z.object({
  name: z.string(),
  api: z.string(),
  base_url: z.string(),
  compatibility_profile: z.string().nullable().meta({ description: 'null: found by its API and address.' }),
  has_credential: z.boolean().meta({ description: 'The credential itself is never returned.' }),
  has_ca_certificates: z.boolean(),
  kubernetes: kubernetesOwner,
  troubles,
  answering_count: z.int().meta({ description: 'Gateways that it has answered since its last change.' }),
  gateway_count: z.int().meta({ description: 'Gateways that report anything.' }),
  model_count: z.int().meta({ description: 'Models with a backend there.' }),
  updated_at: time,
})

export const shownProvider = administeredProvider.meta({ id: 'AdminProvider' })

export const shownProviderWithSpec = administeredProvider
  .extend({
    spec: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The spec of a ModelProvider, without references to Secrets.' }),
    models: z.array(z.string()).meta({ description: 'Models with a backend there, at most 200.' }),
  })
  .meta({ id: 'AdminProviderWithSpec' })

export type ShownProvider = z.input<typeof shownProvider>

export const adminListProviders = {
  operation: 'adminListProviders',
  summary: 'List providers and their health, in order of name',
  method: 'GET',
  url: '/api/v1/admin/providers',
  access: administrator,
  query: z.strictObject({ name: nameFilter, limit: pageLimit, cursor: nameCursor }),
  answers: { 200: pageOf(shownProvider) },
} as const satisfies Contract

export const adminReadProvider = {
  operation: 'adminReadProvider',
  summary: 'Read a provider and its spec, never its credential',
  method: 'GET',
  url: '/api/v1/admin/providers/:provider',
  access: administrator,
  params: providerPath,
  answers: { 200: shownProviderWithSpec },
  problems: ['not_found'],
} as const satisfies Contract

/** As sent, without surrounding spaces and line breaks. */
const credential = storable(z.string().trim().min(1).max(16_384)).meta({
  description:
    'The value that the provider expects. Write-only. If absent, the stored one is kept, as long as address and header stay the same.',
})

/** Longer than what gateways accept is rejected with its reason. */
const caCertificates = storable(z.string().max(100_000)).nullable().meta({
  description: 'PEM of certificate authorities to trust in addition; null: none. If absent, it stays.',
})

const writtenProvider = z.strictObject({
  spec: secretlessProviderSpec,
  compatibility_profile: storable(z.string().max(64)).optional(),
  credential: credential.optional(),
  ca_certificates: caCertificates.optional(),
  reason,
})

export type WrittenProvider = z.output<typeof writtenProvider>

export const adminCreateProvider = {
  operation: 'adminCreateProvider',
  summary: 'Create a provider with the spec of a ModelProvider, without references to Secrets',
  method: 'POST',
  url: '/api/v1/admin/providers',
  access: administratorAgain,
  body: writtenProvider.extend({ name: resourceName }),
  bodyBytesMax: 512 * 1024,
  answers: { 201: shownProviderWithSpec },
} as const satisfies Contract

export const adminUpdateProvider = {
  operation: 'adminUpdateProvider',
  summary: 'Replace the spec of a provider, and its credential if one is given',
  method: 'PATCH',
  url: '/api/v1/admin/providers/:provider',
  access: administratorAgain,
  params: providerPath,
  body: writtenProvider,
  bodyBytesMax: adminCreateProvider.bodyBytesMax,
  answers: { 200: shownProviderWithSpec },
  problems: ['not_found', 'managed_by_cluster', 'precondition_failed'],
  ifMatch: true,
} as const satisfies Contract
