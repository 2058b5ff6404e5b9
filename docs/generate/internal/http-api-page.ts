import { z } from 'zod'
import { code, page, table } from './markdown.ts'
import { readSource } from './source.ts'

const operationSchema = z.object({ summary: z.string(), description: z.string() })
const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), operationSchema)) })

type Row = { readonly group: string; readonly cells: readonly string[] }

export function httpApiPage(): string {
  const rows = readOperations()
  const groups = [...new Set(rows.map(({ group }) => group))]
  return page(
    '# Cabinet API',
    'Made by `npm run docs` from [`openapi.json`](../../cabinet/web/openapi.json), which has every field. A running cabinet serves it at `/api/v1/openapi.json`.',
    'Amounts are rubles as decimal strings, times are RFC 3339 in UTC. Requests with a session cookie must include an `Origin` header. Requests that move money or create keys need an `Idempotency-Key`. [Errors](errors.md#cabinet-api) are RFC 9457 problems.',
    ...groups.flatMap((group) => [
      `## ${group}`,
      table(
        ['operation', 'purpose', 'access'],
        rows.filter((row) => row.group === group).map(({ cells }) => cells),
      ),
    ]),
  )
}

function readOperations(): readonly Row[] {
  const { paths } = documentSchema.parse(JSON.parse(readSource('cabinet/web/openapi.json')))
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, description }]) => {
      const [, group = 'other'] = /^\/api\/v1\/(?:admin\/)?([\w-]+)/.exec(path) ?? []
      return { group, cells: [code(`${method.toUpperCase()} ${path}`), summary, description] }
    }),
  )
}
