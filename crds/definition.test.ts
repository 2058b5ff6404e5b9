import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { definitions } from './definition.ts'
import type { StructuralSchema } from './structural-schema.ts'
import { yamlOf } from './yaml.ts'

test.each([...definitions()])('%s equals its schema: npm run crds writes it', (file, definition) => {
  expect(readFileSync(join(import.meta.dirname, file), 'utf8')).toBe(yamlOf(definition))
})

/** etcd's own limit for an annotation, which client-side kubectl apply keeps the whole object in. */
const annotationBytesMax = 262_144

test.each([...definitions()])('%s can be applied by kubectl as it is', (_, definition) => {
  expect(JSON.stringify(definition).length).toBeLessThan(annotationBytesMax)
})

/** Paths of the fields that `kubectl explain` would not describe. */
function unexplained(schema: StructuralSchema, path: string): readonly string[] {
  const { properties = {}, items } = schema
  const fields = Object.entries({ ...properties, ...items?.properties })
  return [
    ...(typeof schema.description === 'string' ? [] : [path]),
    ...fields.flatMap(([name, field]) => unexplained(field, `${path}.${name}`)),
  ]
}

/** The API server explains these itself. */
const ofEveryKind = ['apiVersion', 'kind', 'metadata'].map((field) => `object.${field}`)

test.each([...definitions()])('kubectl explain describes every field of %s', (_, definition) => {
  const [version] = z
    .object({
      spec: z.object({
        versions: z.array(z.object({ schema: z.object({ openAPIV3Schema: z.custom<StructuralSchema>() }) })),
      }),
    })
    .parse(definition).spec.versions
  expect(unexplained(version?.schema.openAPIV3Schema ?? {}, 'object')).toEqual(ofEveryKind)
})
