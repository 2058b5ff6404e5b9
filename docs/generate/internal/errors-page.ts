import type { Locale } from '#cabinet/api/access'
import { problems } from '#cabinet/api/problem'
import { errorRows } from '#core/errors/refusal'
import { conditionsInRussian } from './error-messages.ru.ts'
import { remediesInEnglish } from './error-remedies.en.ts'
import { remediesInRussian } from './error-remedies.ru.ts'
import { code, page, table } from './markdown.ts'
import { propertyComments } from './source.ts'

/** Errors of the gateway in English. */
export function errorsPage(): string {
  return page(
    '# Errors',
    madeOf('core/errors/refusal.ts and docs/generate/internal/error-remedies.en.ts'),
    'Every error of the gateway, on every path, has this body. Each code below has its cause and its remedy; `doc_url` in the body is the address of its section.',
    errorBody,
    'Some errors add `limit`, `used`, `held` (reserved for requests in progress), `needed` (the least that this request may take), `resets_at` or `affordable_max_tokens`. An error about a budget also adds `budget` (`key`, `member` or `organization`) and `period` (`day`, `week`, `month` or `total`). `source` names who must act: `client`, `gateway` or `upstream` (the provider). `param` is the field or header to change.',
    'Key errors (401, 402, 403) take precedence over 400, 404, 413 and 415. `Retry-After` gives whole seconds. `x-should-retry: false` is on every error that does not clear within a minute.',
    'After the first content of a stream, an error is the event `data: {"error": {…}}`. The stream then ends without `[DONE]`.',
    'Errors of the cabinet API are [on another page](cabinet-errors.md).',
    '## Codes',
    gatewayTable(['code', 'status', 'type', 'source']),
    '## Causes and remedies',
    ...gatewaySections(englishConditions(), remediesInEnglish, ['Cause', 'Remedy']),
  )
}

/** Errors of the gateway in Russian. */
export function errorsPageInRussian(): string {
  return page(
    '# Ошибки',
    madeOf(
      'core/errors/refusal.ts, docs/generate/internal/error-messages.ru.ts and docs/generate/internal/error-remedies.ru.ts',
    ),
    'Тело любой ошибки шлюза, на любом пути, показано ниже. Для каждого кода указаны причина и решение; в теле ошибки адрес её раздела содержит `doc_url`.',
    errorBody,
    'Некоторые ошибки содержат также `limit`, `used`, `held` (зарезервировано под выполняющиеся запросы), `needed` (сколько нужно этому запросу самое меньшее), `resets_at` или `affordable_max_tokens`. Ошибки бюджета содержат ещё `budget` — чей это бюджет: `key` (ключа), `member` (участника) или `organization` (организации) — и `period`: `day` (день), `week` (неделя), `month` (месяц) или `total` (всего). `source` показывает, кому нужно действовать: `client` — клиенту, `gateway` — шлюзу, `upstream` — провайдеру. `param` — поле или заголовок, который нужно изменить.',
    'Ошибки ключа (401, 402, 403) имеют приоритет над 400, 404, 413 и 415. `Retry-After` — целое число секунд. `x-should-retry: false` есть у каждой ошибки, которая не исчезнет в течение минуты.',
    'Если потоковый ответ уже начался, ошибка приходит событием `data: {"error": {…}}`, и поток заканчивается без `[DONE]`.',
    'Ошибки API кабинета — [на отдельной странице](cabinet-errors.md).',
    '## Коды',
    gatewayTable(['код', 'статус', 'тип', 'источник']),
    '## Причины и решения',
    ...gatewaySections(conditionsInRussian, remediesInRussian, ['Причина', 'Решение']),
  )
}

/** Errors of the cabinet's API in English. */
export function cabinetErrorsPage(): string {
  return page(
    '# Errors of the cabinet API',
    madeOf('cabinet/api/problem.ts'),
    'The API under `/api/v1` returns RFC 9457 problems (`application/problem+json`) in English or Russian, by `Accept-Language`. `errors` lists the invalid fields, and `doc_url` is the address of the section on this page. Errors of the gateway are [on another page](errors.md).',
    ...problemSections('en'),
  )
}

/** Errors of the cabinet's API in Russian. */
export function cabinetErrorsPageInRussian(): string {
  return page(
    '# Ошибки API кабинета',
    madeOf('cabinet/api/problem.ts'),
    'API по адресу `/api/v1` возвращает ошибки в формате RFC 9457 (`application/problem+json`) на русском или английском языке, в зависимости от `Accept-Language`. В `errors` перечислены неверные поля, а `doc_url` — адрес раздела на этой странице. Ошибки шлюза — [на отдельной странице](errors.md).',
    ...problemSections('ru'),
  )
}

/** For those who edit the page; readers do not see it. */
const madeOf = (sources: string) => `<!-- Made by \`npm run docs\` from ${sources}. -->`

const errorBody =
  '```json\n{"error": {"message": "…", "type": "…", "param": null, "code": "…", "source": "client", "request_id": "…", "doc_url": "…"}}\n```'

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

function gatewayTable(heads: readonly string[]): string {
  const rows = Object.entries(errorRows).map(([name, [status, type, source]]) => [
    `[${code(name)}](#${name})`,
    String(status),
    code(type),
    source,
  ])
  return table(heads, rows)
}

/** A section for each code, whose anchor is the code. */
function gatewaySections(
  conditions: Readonly<Record<string, string>>,
  remedies: Readonly<Record<string, string>>,
  [cause, remedy]: readonly [string, string],
): readonly string[] {
  return Object.entries(errorRows).flatMap(([name, [status, type]]) => [
    `### ${name}`,
    `${status}, ${code(type)}. **${cause}:** ${conditions[name] ?? ''}`,
    `**${remedy}:** ${remedies[name] ?? ''}`,
  ])
}

/** The text of each names the remedy. */
function problemSections(locale: Locale): readonly string[] {
  return Object.entries(problems).flatMap(([name, problem]) => {
    const [title, detail] = problem[locale]
    return [`## ${name}`, `${problem.status}. **${title}.** ${detail}`]
  })
}
