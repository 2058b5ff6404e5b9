import { page } from './markdown.ts'
import { readSource } from './source.ts'
import { valuesTable } from './values-table.ts'

export function valuesPage(): string {
  return page(
    '# Chart values',
    'Made by `npm run docs` from `charts/model-gateway/values.yaml`. A misspelt value, or one of a wrong type, is rejected with its path.',
    valuesTable(readSource('charts/model-gateway/values.yaml')),
  )
}
