import { isMap, isScalar, type Pair, parseDocument, type Scalar } from 'yaml'

/** A value, as the page lists it. */
type Row = { readonly name: string; readonly byDefault: string; readonly meaning: string }

/**
 * The values of the chart as a table, in order. The comment of a value that begins with `--` is its meaning;
 * a value without one is listed only if nothing below it is.
 */
export function valuesTable(valuesYaml: string): string {
  const { contents } = parseDocument(valuesYaml)
  if (!isMap(contents)) throw new Error('values.yaml is not a map')
  const rows = contents.items.flatMap((pair) => rowsOf(pair as Pair<Scalar, unknown>, ''))
  const lines = rows.map(({ name, byDefault, meaning }) => `| \`${name}\` | \`${byDefault}\` | ${meaning} |`)
  return ['| value | default | meaning |', '| --- | --- | --- |', ...lines].join('\n')
}

/** @param above the comment above the first value of a map belongs to it, though it is kept with the map. */
function rowsOf({ key, value }: Pair<Scalar, unknown>, parent: string, above?: string | null): Row[] {
  const name = `${parent}${String(key.value)}`
  const meaning = meaningOf(key.commentBefore ?? above)
  if (isMap(value) && value.items.length > 0 && meaning === '')
    return value.items.flatMap((pair, n) =>
      rowsOf(pair as Pair<Scalar, unknown>, `${name}.`, n === 0 ? value.commentBefore : undefined),
    )
  const plain = isScalar(value) || isMap(value) ? value.toJSON() : JSON.parse(JSON.stringify(value ?? null))
  return [{ name, byDefault: JSON.stringify(plain), meaning }]
}

function meaningOf(comment: string | null | undefined): string {
  const [, said = ''] = /(?:^|\n) ?-- ([\s\S]*)$/.exec(comment ?? '') ?? []
  return said.replace(/\s*\n\s*/g, ' ').trim()
}
