import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { definitions } from './definition.ts'
import { yamlOf } from './yaml.ts'

test.each([...definitions()])('%s is what its schema says: npm run crds writes it', (file, definition) => {
  expect(readFileSync(join(import.meta.dirname, file), 'utf8')).toBe(yamlOf(definition))
})

/** etcd's own limit for an annotation, which client-side kubectl apply keeps the whole object in. */
const annotationBytesMax = 262_144

test.each([...definitions()])('%s can be applied by kubectl as it is', (_, definition) => {
  expect(JSON.stringify(definition).length).toBeLessThan(annotationBytesMax)
})
