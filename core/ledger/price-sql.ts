/**
 * The current price of a model: a row of `model_prices`, or none. Of the unscheduled prices the one written
 * last applies, regardless of the clock. A scheduled one applies from its time until the next price.
 */
export const priceInForceSql = (model: string) =>
  `select * from (
     (select * from model_prices where model = ${model} and not scheduled order by seq desc limit 1)
     union all
     (select * from model_prices where model = ${model} and scheduled and canceled_at is null
         and valid_from <= clock_timestamp() order by valid_from desc limit 1)
   ) as latest order by least(valid_from, clock_timestamp()) desc, seq desc limit 1`

/** The scheduled prices of a model that wait for their time: rows of `model_prices`, the next one first. */
export const scheduledPricesSql = (model: string) =>
  `select * from model_prices where model = ${model} and scheduled and canceled_at is null
      and valid_from > clock_timestamp() order by valid_from`

/** A row of `model_prices` as the JSON that `priceSchema` reads: amounts are texts, which JSON keeps exact. */
export const priceJsonSql = (row: string) =>
  `jsonb_build_object('id', ${row}.id, 'input', ${row}.input::text, 'cachedInput', ${row}.cached_input::text,
     'cacheWrite', ${row}.cache_write::text, 'output', ${row}.output::text, 'reasoning', ${row}.reasoning::text,
     'perRequest', ${row}.per_request::text)`
