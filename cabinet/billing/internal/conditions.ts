/** An SQL condition. Each `?` in it takes the next of its values. */
export type Condition = readonly [sql: string, ...values: readonly unknown[]]

/** Joins conditions, with parameters numbered after `earlier` ones, and all values. Skips `false`. Pure. */
export function allOf(
  conditions: readonly (Condition | false)[],
  earlier: readonly unknown[] = [],
): {
  readonly sql: string
  readonly values: unknown[]
} {
  const values: unknown[] = [...earlier]
  const parts = conditions
    .filter((condition) => condition !== false)
    .map(([sql, ...own]) => {
      const rest = own.values()
      return sql.replaceAll('?', () => `$${values.push(rest.next().value)}`)
    })
  return { sql: parts.join(' and '), values }
}
