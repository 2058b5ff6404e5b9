/** Since when Postgres has every request, in SQL: earlier ones are in the archive only. Without an archive it has all. */
export const keptFrom = `coalesce((select kept_from from archive), '-infinity')`
