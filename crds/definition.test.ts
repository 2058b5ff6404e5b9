import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiKeySchema } from './api-key.ts'
import { definitions } from './definition.ts'
import { modelProviderSchema } from './model-provider.ts'
import { modelRouteSchema } from './model-route.ts'
import { type StructuralSchema, structuralSchema } from './structural-schema.ts'
import { yamlOf } from './yaml.ts'

test.each([...definitions()])('%s is what its schema says: npm run crds writes it', (file, definition) => {
  expect(readFileSync(join(import.meta.dirname, file), 'utf8')).toBe(yamlOf(definition))
})

/** etcd's own limit for an annotation, which client-side kubectl apply keeps the whole object in. */
const annotationBytesMax = 262_144

test.each([...definitions()])('%s can be applied by kubectl as it is', (_, definition) => {
  expect(JSON.stringify(definition).length).toBeLessThan(annotationBytesMax)
})

/** Paths of the fields of which `kubectl explain` would say nothing. */
function unexplained({ properties = {}, items }: StructuralSchema, path = 'spec'): readonly string[] {
  const fields = Object.entries({ ...properties, ...items?.properties })
  return fields.flatMap(([name, field]) => [
    ...(typeof field.description === 'string' ? [] : [`${path}.${name}`]),
    ...unexplained(field, `${path}.${name}`),
  ])
}

test.each([
  ['ApiKey', apiKeySchema],
  ['ModelProvider', modelProviderSchema],
  ['ModelRoute', modelRouteSchema],
])('kubectl explain says something of every field that people write into a %s', (_, schema) => {
  const { spec = {} } = structuralSchema(schema).properties ?? {}
  expect(unexplained(spec)).toEqual([])
})
