import type { Locale } from '#cabinet/api/access'
import { problems } from '#cabinet/api/problem'
import { errorRows } from '#core/errors/refusal'
import { conditionsInRussian } from './error-messages.ru.ts'
import { code, page, table } from './markdown.ts'
import { propertyComments } from './source.ts'

export function errorsPage(): string {
  return page(
    '# Errors',
    'Made by `npm run docs` from [`refusal.ts`](../../core/errors/refusal.ts) and [`problem.ts`](../../cabinet/api/problem.ts).',
    '## Gateway',
    'Every error of the gateway, on every path, has this body:',
    errorBody,
    'Some errors add `limit`, `used`, `held` (reserved for requests in progress), `needed` (the least that this request may take), `resets_at` or `affordable_max_tokens`. An error about a budget also adds `budget` (`key`, `member` or `organization`) and `period` (`day`, `week`, `month` or `total`). `source` names who must act: `client`, `gateway` or `upstream` (the provider). `param` is the field or header to change.',
    'Key errors (401, 402, 403) take precedence over 400, 404, 413 and 415. `Retry-After` gives whole seconds. `x-should-retry: false` is on every error that does not clear within a minute.',
    'After the first content of a stream, an error is the event `data: {"error": {…}}`. The stream then ends without `[DONE]`.',
    gatewayTable(['code', 'status', 'type', 'source', 'condition'], englishConditions()),
    '## Cabinet API',
    'The API under `/api/v1` returns RFC 9457 problems (`application/problem+json`) in English or Russian, by `Accept-Language`. `errors` lists the invalid fields.',
    problemTable(['code', 'status', 'title', 'detail'], 'en'),
  )
}

export function errorsPageInRussian(): string {
  return page(
    '# Ошибки',
    'Страницу создаёт `npm run docs` из [`refusal.ts`](../../../core/errors/refusal.ts), [`error-messages.ru.ts`](../../generate/internal/error-messages.ru.ts) и [`problem.ts`](../../../cabinet/api/problem.ts).',
    '## Шлюз',
    'Тело любой ошибки шлюза, на любом пути:',
    errorBody,
    'Некоторые ошибки содержат также `limit`, `used`, `held` (зарезервировано под выполняющиеся запросы), `needed` (сколько нужно этому запросу самое меньшее), `resets_at` или `affordable_max_tokens`. Ошибки бюджета содержат ещё `budget` — чей это бюджет: `key` (ключа), `member` (участника) или `organization` (организации) — и `period`: `day` (день), `week` (неделя), `month` (месяц) или `total` (всего). `source` показывает, кому нужно действовать: `client` — клиенту, `gateway` — шлюзу, `upstream` — провайдеру. `param` — поле или заголовок, который нужно изменить.',
    'Ошибки ключа (401, 402, 403) имеют приоритет над 400, 404, 413 и 415. `Retry-After` — целое число секунд. `x-should-retry: false` есть у каждой ошибки, которая не исчезнет в течение минуты.',
    'Если потоковый ответ уже начался, ошибка приходит событием `data: {"error": {…}}`, и поток заканчивается без `[DONE]`.',
    gatewayTable(['код', 'статус', 'тип', 'источник', 'условие'], conditionsInRussian),
    '## API кабинета',
    'API по адресу `/api/v1` возвращает ошибки в формате RFC 9457 (`application/problem+json`) на русском или английском языке, в зависимости от `Accept-Language`. В `errors` перечислены неверные поля.',
    problemTable(['код', 'статус', 'заголовок', 'описание'], 'ru'),
  )
}

const errorBody =
  '```json\n{"error": {"message": "…", "type": "…", "param": null, "code": "…", "source": "client", "request_id": "…"}}\n```'

/** The comments of the codes. @throws Error for a code without one */
function englishConditions(): Readonly<Record<string, string>> {
  const comments = propertyComments('core/errors/refusal.ts')
  return Object.fromEntries(
    Object.keys(errorRows).map((name) => {
      const meaning = comments.get(name)
      if (meaning === undefined) throw new Error(`core/errors/refusal.ts: ${name} has no comment`)
      return [name, meaning]
    }),
  )
}

function gatewayTable(heads: readonly string[], conditions: Readonly<Record<string, string>>): string {
  const rows = Object.entries(errorRows).map(([name, [status, type, source]]) => [
    code(name),
    String(status),
    code(type),
    source,
    conditions[name] ?? '',
  ])
  return table(heads, rows)
}

function problemTable(heads: readonly string[], locale: Locale): string {
  const rows = Object.entries(problems).map(([name, problem]) => [
    code(name),
    String(problem.status),
    ...problem[locale],
  ])
  return table(heads, rows)
}
