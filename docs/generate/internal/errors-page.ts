import { problems } from '#cabinet/api/problem'
import { errorRows } from '#core/errors/refusal'
import { code, page, table } from './markdown.ts'
import { propertyComments } from './source.ts'

export function errorsPage(): string {
  return page(
    '# Errors',
    'Made by `npm run docs` from [`refusal.ts`](../../core/errors/refusal.ts) and [`problem.ts`](../../cabinet/api/problem.ts).',
    '## Gateway',
    'Every error of the gateway, on every path, has this body:',
    '```json\n{"error": {"message": "…", "type": "…", "param": null, "code": "…", "source": "client", "request_id": "…"}}\n```',
    'Some errors add `limit`, `used`, `resets_at` or `affordable_max_tokens`. `source` names who must act: `client`, `gateway` or `upstream` (the provider). `param` is the field or header to change.',
    'Key errors (401, 402, 403) take precedence over 400, 404, 413 and 415. `Retry-After` gives whole seconds. `x-should-retry: false` is on every error that does not clear within a minute.',
    'After the first content of a stream, an error is the event `data: {"error": {…}}`. The stream then ends without `[DONE]`.',
    gatewayTable(),
    '## Cabinet API',
    'The API under `/api/v1` returns RFC 9457 problems (`application/problem+json`) in English or Russian, by `Accept-Language`. `errors` lists the invalid fields.',
    table(
      ['code', 'status', 'title', 'detail'],
      Object.entries(problems).map(([name, { status, en }]) => [code(name), String(status), ...en]),
    ),
  )
}

function gatewayTable(): string {
  const comments = propertyComments('core/errors/refusal.ts')
  const rows = Object.entries(errorRows).map(([name, [status, type, source]]) => {
    const meaning = comments.get(name)
    if (meaning === undefined) throw new Error(`core/errors/refusal.ts: ${name} has no comment`)
    return [code(name), String(status), code(type), source, meaning]
  })
  return table(['code', 'status', 'type', 'source', 'condition'], rows)
}
