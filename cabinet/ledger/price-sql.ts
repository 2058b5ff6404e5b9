/** What a model costs now: a row of `model_prices`, or none. */
export const priceInForceSql = (model: string) =>
  `select * from model_prices where model = ${model} and valid_from <= clock_timestamp() order by valid_from desc limit 1`

/** A row of `model_prices` as the JSON that `priceSchema` reads: amounts are texts, which JSON keeps exact. */
export const priceJsonSql = (row: string) =>
  `jsonb_build_object('id', ${row}.id, 'input', ${row}.input::text, 'cachedInput', ${row}.cached_input::text,
     'cacheWrite', ${row}.cache_write::text, 'output', ${row}.output::text, 'reasoning', ${row}.reasoning::text,
     'perRequest', ${row}.per_request::text)`
