import { z } from 'zod'
import { code, page, table } from './markdown.ts'
import { readSource } from './source.ts'

const operationSchema = z.object({ summary: z.string(), description: z.string() })
const documentSchema = z.object({ paths: z.record(z.string(), z.record(z.string(), operationSchema)) })

type Row = { readonly group: string; readonly cells: readonly string[] }

/** The page of the endpoints that the cabinet serves. */
export function httpApiPage(): string {
  return page(
    '# Cabinet API',
    '<!-- Made by `npm run docs` from cabinet/web/openapi.json. -->',
    'Every operation of the cabinet. The OpenAPI description at `/api/v1/openapi.json` has every field.',
    'Amounts are rubles as decimal strings, times are RFC 3339 in UTC. Requests with a session cookie must include an `Origin` header. Requests that move money or create keys need an `Idempotency-Key`. [Errors](cabinet-errors.md) are RFC 9457 problems.',
    ...sectionsOf('cabinet/web/openapi.json'),
  )
}

/** The page of the endpoints that administration serves. */
export function administrationApiPage(): string {
  return page(
    '# Administration API',
    'Made by `npm run docs` from [`openapi.json`](../../cabinet/administration/openapi.json), which has every field. Only the [administration process](administration.md) serves these paths.',
    'Amounts are rubles as decimal strings, times are RFC 3339 in UTC. Requests with a session cookie must include an `Origin` header with the address of administration. Requests that move money need an `Idempotency-Key`. [Errors](../use/cabinet-errors.md) are RFC 9457 problems.',
    ...sectionsOf('cabinet/administration/openapi.json'),
  )
}

function sectionsOf(document: string): readonly string[] {
  const rows = readOperations(document)
  const groups = [...new Set(rows.map(({ group }) => group))]
  return groups.flatMap((group) => [
    `## ${group}`,
    table(
      ['operation', 'purpose', 'access'],
      rows.filter((row) => row.group === group).map(({ cells }) => cells),
    ),
  ])
}

function readOperations(document: string): readonly Row[] {
  const { paths } = documentSchema.parse(JSON.parse(readSource(document)))
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, description }]) => {
      const [, group = 'other'] = /^\/api\/v1\/(?:admin\/)?([\w-]+)/.exec(path) ?? []
      return { group, cells: [code(`${method.toUpperCase()} ${path}`), summary, description] }
    }),
  )
}
