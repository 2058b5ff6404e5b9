import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ImageBuilder, openImageBuilder } from '../support/image-builder.ts'

const chart = join(import.meta.dirname, '../../charts/model-gateway/templates')
const timeoutMs = 900_000
const runsUntilEnded = 124

let builder: ImageBuilder
beforeAll(async () => {
  builder = await openImageBuilder()
  await builder.build()
}, timeoutMs)
afterAll(() => builder?.remove(), timeoutMs)

/** Programs that the chart's pods run. */
const programs = readdirSync(chart, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(?:yaml|tpl)$/.test(file))
  .flatMap(
    (file) => readFileSync(join(chart, file), 'utf8').match(/\b[a-z-]+(?:\/[a-z-]+)*\/main\.ts\b/g) ?? [],
  )

test.each([...new Set(programs)])(
  'the image has what %s needs: it runs, or names the missing settings',
  async (file) => {
    const { code, output } = await builder.node(file)
    if (code !== runsUntilEnded) expect(output).toMatch(/[A-Z_]{4,}: is not set/)
  },
  timeoutMs,
)

test('the image runs as a user without a name, and has no npm and no package of the tests', async () => {
  const script = `const { existsSync } = require('node:fs')
    console.log(JSON.stringify([process.getuid(), existsSync('/usr/local/lib/node_modules'),
      existsSync('/app/node_modules/vitest'), existsSync('/app/cabinet/pages/dist/index.html')]))`
  const { code, output } = await builder.node('--eval', script)
  expect([code, JSON.parse(output)]).toEqual([0, [65_532, false, false, true]])
})
