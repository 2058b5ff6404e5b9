import type { z } from 'zod'
import { apiKeySchema } from './api-key.ts'
import { apiKeyQuotaSchema } from './api-key-quota.ts'
import { modelProviderSchema } from './model-provider.ts'
import { modelRouteSchema } from './model-route.ts'
import { group, version } from './resource.ts'
import { structuralSchema } from './structural-schema.ts'

type Column = {
  readonly name: string
  readonly type: 'string' | 'integer' | 'date'
  readonly jsonPath: string
  /** 1: shown by `-o wide` only. */
  readonly priority?: 1
}

type Kind = {
  readonly kind: string
  readonly singular: string
  readonly shortName: string
  readonly schema: z.ZodType
  /** Field of the spec that `--field-selector` may use, if any. */
  readonly selectable?: string
  readonly columns: readonly Column[]
}

const ready: readonly Column[] = [condition('Ready', 'status'), condition('Reason', 'reason')]
/** The name of a mirror is only an id. */
const displayName: Column = { name: 'Display-Name', type: 'string', jsonPath: '.spec.displayName' }
const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

const kinds: readonly Kind[] = [
  {
    kind: 'ApiKey',
    singular: 'apikey',
    shortName: 'mgkey',
    schema: apiKeySchema,
    selectable: '.spec.organization',
    columns: [
      displayName,
      { name: 'Organization', type: 'string', jsonPath: '.spec.organization' },
      ...ready,
      { name: 'Prefix', type: 'string', jsonPath: '.status.keyPrefix' },
      { name: 'Secret', type: 'string', jsonPath: '.status.secretRef.name' },
      age,
      // A date in the future would show as <invalid>.
      { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', priority: 1 },
      { name: 'RPM', type: 'integer', jsonPath: '.spec.limits.requestsPerMinute', priority: 1 },
      { name: 'TPM', type: 'integer', jsonPath: '.spec.limits.tokensPerMinute', priority: 1 },
      { name: 'Budget', type: 'string', jsonPath: '.spec.limits.dailyBudgetRub', priority: 1 },
      { name: 'Rotated', type: 'date', jsonPath: '.status.rotation.lastRotated', priority: 1 },
      // A date in the future again.
      { name: 'Rotates', type: 'string', jsonPath: '.status.rotation.nextRotation', priority: 1 },
      { name: 'Managed-By', type: 'string', jsonPath: '.status.managedBy', priority: 1 },
      { name: 'Key-ID', type: 'string', jsonPath: '.status.keyID', priority: 1 },
    ],
  },
  {
    kind: 'ApiKeyQuota',
    singular: 'apikeyquota',
    shortName: 'mgquota',
    schema: apiKeyQuotaSchema,
    columns: [
      { name: 'API-Keys', type: 'integer', jsonPath: '.spec.apiKeys' },
      { name: 'Total-Budget', type: 'string', jsonPath: '.spec.totalDailyBudgetRub' },
      { name: 'Budget', type: 'string', jsonPath: '.spec.perKey.dailyBudgetRub' },
      { name: 'RPM', type: 'integer', jsonPath: '.spec.perKey.requestsPerMinute' },
      { name: 'TPM', type: 'integer', jsonPath: '.spec.perKey.tokensPerMinute' },
      age,
      { name: 'Models', type: 'string', jsonPath: '.spec.allowedModels', priority: 1 },
    ],
  },
  {
    kind: 'ModelProvider',
    singular: 'modelprovider',
    shortName: 'mgprovider',
    schema: modelProviderSchema,
    selectable: '.spec.api',
    columns: [
      { name: 'API', type: 'string', jsonPath: '.spec.api' },
      ...ready,
      age,
      { name: 'URL', type: 'string', jsonPath: '.spec.baseURL', priority: 1 },
      { name: 'RPM', type: 'integer', jsonPath: '.spec.limits.requestsPerMinute', priority: 1 },
    ],
  },
  {
    kind: 'ModelRoute',
    singular: 'modelroute',
    shortName: 'mgroute',
    schema: modelRouteSchema,
    selectable: '.spec.model',
    columns: [
      displayName,
      { name: 'Model', type: 'string', jsonPath: '.spec.model' },
      ...ready,
      { name: 'Backends', type: 'string', jsonPath: '.status.backendsReady' },
      age,
      { name: 'In/1M', type: 'string', jsonPath: '.spec.pricingRubPerMillionTokens.input', priority: 1 },
      { name: 'Out/1M', type: 'string', jsonPath: '.spec.pricingRubPerMillionTokens.output', priority: 1 },
      { name: 'Revision', type: 'integer', jsonPath: '.status.revision', priority: 1 },
    ],
  },
]

/** Every kind's CustomResourceDefinition, by the file it belongs in. */
export function definitions(): ReadonlyMap<string, object> {
  return new Map(kinds.map((kind) => [`${kind.singular}s.yaml`, definitionOf(kind)]))
}

function definitionOf({ kind, singular, shortName, schema, selectable, columns }: Kind): object {
  const plural = `${singular}s`
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/part-of': 'model-gateway' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        plural,
        singular,
        listKind: `${kind}List`,
        shortNames: [shortName],
        categories: ['model-gateway'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(hasStatus(schema) ? { subresources: { status: {} } } : {}),
          ...(selectable === undefined ? {} : { selectableFields: [{ jsonPath: selectable }] }),
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: wholeSchema(schema) },
        },
      ],
    },
  }
}

/** The API server validates everything around spec and status itself: it knows what metadata may contain. */
function wholeSchema(schema: z.ZodType): object {
  const { description, properties = {} } = structuralSchema(schema)
  return {
    description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: properties.spec,
      ...(properties.status === undefined ? {} : { status: properties.status }),
    },
  }
}

function hasStatus(schema: z.ZodType): boolean {
  return structuralSchema(schema).properties?.status !== undefined
}

function condition(name: string, field: 'status' | 'reason'): Column {
  return { name, type: 'string', jsonPath: `.status.conditions[?(@.type=="Ready")].${field}` }
}
