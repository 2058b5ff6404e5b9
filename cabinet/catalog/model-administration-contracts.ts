import { z } from 'zod'
import { modelRouteSchema } from '#crds/model-route'
import { storable } from '#crds/storable'
import type { Contract } from '../api/contract.ts'
import { time } from '../api/fields.ts'
import { cursorOf, pageLimit, pageOf } from '../api/page.ts'
import { pricing } from './catalog-contracts.ts'

const administrator = { to: 'administrator' } as const

/** What a model costs and where its requests go is money: it needs a recent code. */
export const administratorAgain = { to: 'administrator', again: true } as const

/** The reason for a change, kept for later audits. */
export const reason = storable(z.string().trim().min(3).max(500))

/** The Kubernetes object that owns a route or provider. */
export const kubernetesOwner = z
  .object({ cluster: z.string(), namespace: z.string(), name: z.string() })
  .nullable()
  .meta({
    description: 'The object in a cluster that it belongs to, which is changed there; null: made here.',
  })

/** Reports of gateways about a backend or provider. */
export const troubles = z
  .array(z.string())
  .meta({ description: 'One word from each gateway that cannot use it now.' })

/** A name in a path is one segment: its slashes are encoded. */
export const pathName = storable(z.string().max(512))

export const modelPath = z.strictObject({ model: pathName })

/** Only names that contain this text. */
export const nameFilter = storable(z.string().max(253))
  .optional()
  .meta({ description: 'Only those whose name contains this text.' })

export const nameCursor = cursorOf(storable(z.string().max(512)))

const administeredModel = z.object({
  model: z.string(),
  type: z.enum(['chat', 'embedding']),
  display_name: z.string(),
  free: z.boolean(),
  pricing: pricing.nullable().meta({ description: 'In force now; null: free, or it has no price yet.' }),
  next_pricing: pricing.nullable(),
  next_pricing_from: time.nullable(),
  kubernetes: kubernetesOwner,
  backends: z.array(
    z.object({
      name: z.string(),
      provider: z.string(),
      provider_exists: z.boolean(),
      model: z.string(),
      priority: z.int(),
      weight: z.int(),
      troubles,
    }),
  ),
  fallbacks: z.array(z.string()),
  organizations: z.array(z.string()).nullable().meta({ description: 'Names; null: all organizations.' }),
  updated_at: time,
})

export const shownModel = administeredModel.meta({ id: 'AdminModel' })

export const shownModelWithSpec = administeredModel
  .extend({
    spec: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The spec of a ModelRoute, as in a cluster.' }),
  })
  .meta({ id: 'AdminModelWithSpec' })

export type ShownModel = z.input<typeof shownModel>

export const adminListModels = {
  operation: 'adminListModels',
  summary: 'List models with their prices, backends and health, in order of name',
  method: 'GET',
  url: '/api/v1/admin/models',
  access: administrator,
  query: z.strictObject({ name: nameFilter, limit: pageLimit, cursor: nameCursor }),
  answers: { 200: pageOf(shownModel) },
} as const satisfies Contract

export const adminReadModel = {
  operation: 'adminReadModel',
  summary: 'Read a model and its spec',
  method: 'GET',
  url: '/api/v1/admin/models/:model',
  access: administrator,
  params: modelPath,
  answers: { 200: shownModelWithSpec },
  problems: ['not_found'],
} as const satisfies Contract

export const adminReadCatalogState = {
  operation: 'adminReadCatalogState',
  summary: 'Read the revision of the catalog, and the one that each gateway serves',
  method: 'GET',
  url: '/api/v1/admin/catalog-state',
  access: administrator,
  answers: {
    200: z.object({
      revision: z.string(),
      gateways: z.array(z.object({ id: z.string(), revision: z.string(), is_current: z.boolean() })),
    }),
  },
} as const satisfies Contract

export const adminCreateModel = {
  operation: 'adminCreateModel',
  summary: 'Create a model with the spec of a ModelRoute; a price in it applies now',
  method: 'POST',
  url: '/api/v1/admin/models',
  access: administratorAgain,
  body: z.strictObject({ spec: modelRouteSchema.shape.spec, reason }),
  bodyBytesMax: 512 * 1024,
  answers: { 201: shownModelWithSpec },
} as const satisfies Contract

export const adminUpdateModel = {
  operation: 'adminUpdateModel',
  summary: 'Replace the spec of a model; another price in it applies now',
  method: 'PATCH',
  url: '/api/v1/admin/models/:model',
  access: administratorAgain,
  params: modelPath,
  body: adminCreateModel.body,
  bodyBytesMax: adminCreateModel.bodyBytesMax,
  answers: { 200: shownModelWithSpec },
  problems: ['not_found', 'managed_by_cluster', 'precondition_failed'],
  ifMatch: true,
} as const satisfies Contract
