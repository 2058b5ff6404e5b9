import { z } from 'zod'
import { unwrittenDefault } from './rule.ts'

/** A schema as a CustomResourceDefinition takes it: every field has a type, and unions are rules. */
export type StructuralSchema = {
  readonly type?: string
  readonly properties?: Readonly<Record<string, StructuralSchema>>
  readonly items?: StructuralSchema
  readonly additionalProperties?: StructuralSchema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly [keyword: string]: unknown
}

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' })

/** The schema that the API server applies to what `schema` reads, including the rules of `rule.ts`. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return structural(z.toJSONSchema(schema, { io: 'input', target: 'openapi-3.0', reused: 'inline' }))
}

const [unwritten] = Object.keys(unwrittenDefault) as [keyof typeof unwrittenDefault]

type JsonSchema = z.core.JSONSchema.BaseSchema

/** Keywords with the same meaning there. All others are left out: rules cover them, or the API server does. */
const keptKeywords = [
  'type',
  'description',
  'default',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'required',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-validations',
] as const

function structural(schema: JsonSchema): StructuralSchema {
  if (schema.oneOf !== undefined) return structural(unionAsObject(schema))
  const isAnyJson = schema.$ref !== undefined || Object.keys(schema).length === 0
  if (isAnyJson) return { 'x-kubernetes-preserve-unknown-fields': true }
  const { properties, items, additionalProperties, format } = schema
  return {
    ...Object.fromEntries(keptKeywords.flatMap((key) => (isKept(key, schema) ? [[key, schema[key]]] : []))),
    ...(schema.type === 'integer' ? { format: 'int64' } : {}),
    ...(format === 'date-time' ? { format } : {}),
    ...(properties === undefined ? {} : { properties: structuralAll(properties) }),
    ...(isSchema(items) ? { items: structural(items) } : {}),
    // For a record. An object with declared fields has no others: unknown ones are pruned or rejected.
    ...(properties === undefined && isSchema(additionalProperties)
      ? { additionalProperties: structural(additionalProperties) }
      : {}),
  }
}

function isKept(key: (typeof keptKeywords)[number], schema: JsonSchema): boolean {
  return key in schema && !(key === 'default' && unwritten in schema)
}

function structuralAll(properties: Readonly<Record<string, unknown>>): Record<string, StructuralSchema> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) =>
      isSchema(schema) ? [[name, structural(schema)]] : [],
    ),
  )
}

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
}

/**
 * A union with a discriminator, as one object with the fields of all variants: the API server allows no types inside
 * `oneOf`, and its messages about them are of no use to anyone.
 */
function unionAsObject({ oneOf, ...rest }: JsonSchema): JsonSchema {
  const variants = (oneOf ?? []).filter(isSchema)
  const [discriminator = ''] = Object.keys(variants[0]?.properties ?? {})
  const nameOf = (variant: JsonSchema) => constantsOf(variant.properties?.[discriminator])
  const properties = Object.assign({}, ...variants.map((variant) => variant.properties))
  const rules = Object.keys(properties)
    .filter((field) => field !== discriminator)
    .map((field) => {
      const names = variants.filter(({ properties: own = {} }) => field in own).flatMap(nameOf)
      return {
        rule: `(self.${discriminator} in [${names.map((name) => `'${name}'`).join(', ')}]) == has(self.${field})`,
        message: `must be set when ${discriminator} is ${alternatives.format(names)}, and only then`,
        reason: 'FieldValueInvalid',
        fieldPath: `.${field}`,
      }
    })
  return {
    ...rest,
    type: 'object',
    required: [discriminator],
    properties: {
      ...properties,
      [discriminator]: { ...properties[discriminator], type: 'string', enum: variants.flatMap(nameOf) },
    },
    'x-kubernetes-validations': rules,
  }
}

function constantsOf(schema: unknown): readonly string[] {
  if (!isSchema(schema)) return []
  return (schema.enum ?? []).filter((value) => typeof value === 'string')
}
