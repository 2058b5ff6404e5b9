import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { describingNames, reservedDomains } from '#crds/secret-template'

const policySchema = z.object({
  metadata: z.object({ name: z.literal('model-gateway-key-permissions') }),
  spec: z.object({ variables: z.array(z.object({ name: z.string(), expression: z.string() })) }),
})

test('the policy has the same reserved domains and exceptions', () => {
  const text = readFileSync(join(import.meta.dirname, '../deploy/admission.yaml'), 'utf8')
  const [policy] = parseAllDocuments(text).flatMap(
    (document) => policySchema.safeParse(document.toJS()).data ?? [],
  )
  const listOf = (variable: string) =>
    policy?.spec.variables
      .find(({ name }) => name === variable)
      ?.expression.match(/'[^']+'/g)
      ?.map((quoted) => quoted.slice(1, -1))
  expect(listOf('reservedDomains')).toEqual(reservedDomains)
  expect(listOf('describingNames')).toEqual(describingNames)
})
