import { oldNamesEndIn, renamed } from '#core/process/renamed'
import { code, page } from './markdown.ts'
import { readSource } from './source.ts'
import { valuesTable } from './values-table.ts'

const renamedValues = Object.entries(renamed.values).map(
  ([name, oldName]) => `${code(oldName)} is ${code(name)}`,
)

export function valuesPage(): string {
  return page(
    '# Chart values',
    'Made by `npm run docs` from `charts/model-gateway/values.yaml`. A misspelt value, or one of a wrong type, is rejected with its path.',
    `Renamed values, whose old names work until ${oldNamesEndIn}: ${renamedValues.join(', ')}.`,
    valuesTable(readSource('charts/model-gateway/values.yaml')),
  )
}
