import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'

const folder = join(import.meta.dirname, '../.github/workflows')
const workflowSchema = z.object({
  permissions: z.strictObject({}),
  jobs: z.record(
    z.string(),
    z.object({ permissions: z.record(z.string(), z.enum(['read', 'write'])), 'timeout-minutes': z.int() }),
  ),
})

const workflows = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const)

test.each(workflows)('%s uses actions by commit, and names their version', (_, text) => {
  const used = text.match(/uses: .+/g) ?? []
  expect(used).not.toEqual([])
  expect(used.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual(
    [],
  )
})

test.each(workflows)('%s gives each job its own permissions and a time limit', (_, text) => {
  expect(() => workflowSchema.parse(parse(text))).not.toThrow()
})

test.each(workflows)(
  '%s keeps no token on disk, knows no secret but its token, and runs no text of strangers',
  (_, text) => {
    const checkouts = text.match(/uses: actions\/checkout/g) ?? []
    expect(text.match(/persist-credentials: false/g)).toHaveLength(checkouts.length)
    expect(
      [...text.matchAll(/secrets\.(\w+)/g)].map(([, name]) => name).filter((name) => name !== 'GITHUB_TOKEN'),
    ).toEqual([])
    expect(text).not.toContain('pull_request_target')
    expect(text).not.toMatch(/github\.event|github\.head_ref/)
  },
)
