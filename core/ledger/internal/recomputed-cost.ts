/**
 * Joins to `requests r` and its price `model_prices p` the cost of the request by its tokens and that price,
 * as `priced.cost`. It is the rule of `costOf` in SQL, so that the two can be compared.
 */
export const recomputedCost = `
  cross join lateral (select r.record -> 'tokens' as tokens) k
  cross join lateral (select coalesce(
    (tokens ->> 'input')::numeric * p.input
    + (tokens ->> 'cachedInput')::numeric * coalesce(p.cached_input, p.input)
    + (tokens ->> 'cacheWrite')::numeric * coalesce(p.cache_write, p.input)
    + (tokens ->> 'output')::numeric * p.output
    + (tokens ->> 'reasoning')::numeric * coalesce(p.reasoning, p.output)
    + p.per_request, 0) as cost) priced`
