import { keptFrom } from './kept-from.ts'

/** Since when usage is split by provider and durations are counted, in SQL, as far as its requests are kept. */
const splitFrom = `greatest(${keptFrom}, (select at from usage_since))`

/** Of usage_hourly. */
const usageSums = ['requests', 'input', 'cached_input', 'cache_write', 'output', 'reasoning', 'cost'] as const
const sums = [...usageSums, 'errors'] as const
const key = 'organization_id, api_key_id, model, hour'

/** Where `requests r` are counted, in five columns. */
const placeOfRequest = `
  r.organization_id, r.api_key_id, coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked') as model,
  date_trunc('hour', r.ts, 'UTC') as hour, coalesce(nullif(lower(r.record -> 'attempts' -> -1 ->> 'provider'), ''), '-') as provider`

/** The sums of `requests r` by provider; group by the first five columns. */
const splitRequests = `
  ${placeOfRequest},
  count(*) as requests, count(*) filter (where is_failed(r.record)) as errors,
  sum((r.record -> 'tokens' ->> 'input')::bigint) as input,
  sum((r.record -> 'tokens' ->> 'cachedInput')::bigint) as cached_input,
  sum((r.record -> 'tokens' ->> 'cacheWrite')::bigint) as cache_write,
  sum((r.record -> 'tokens' ->> 'output')::bigint) as output,
  sum((r.record -> 'tokens' ->> 'reasoning')::bigint) as reasoning, sum(r.cost) as cost`

/** The completed requests of `requests r` by duration; group by the first six columns. */
const timedRequests = `
  ${placeOfRequest},
  duration_class(coalesce((r.record ->> 'totalMs')::bigint, 0)) as class, count(*) as requests`

const isSplitOtherwise = `(${sums.map((sum) => `coalesce(u.${sum}, 0)`).join(', ')})
  <> (${sums.map((sum) => `coalesce(r.${sum}, 0)`).join(', ')})`

/** Breaches of `usage_is_sum_of_requests` in the sums by provider and by duration, as its check of all. */
export const wholeSplits = `
  select ${key}, u.cost, r.cost as requested
    from (select * from usage_by_provider where hour >= ${splitFrom}) u
    full join (select ${splitRequests} from requests r where r.ts >= ${splitFrom} group by 1, 2, 3, 4, 5) r
      using (${key}, provider)
   where ${isSplitOtherwise}
  union all
  select ${key}, u.cost, h.cost
    from (select ${key}, ${usageSums.map((sum) => `sum(${sum}) as ${sum}`).join(', ')} from usage_by_provider
           where hour >= (select at from usage_since) and hour < ${keptFrom} group by ${key}) u
    full join (select * from usage_hourly where hour >= (select at from usage_since) and hour < ${keptFrom}) h using (${key})
   where (${usageSums.map((sum) => `coalesce(u.${sum}, 0)`).join(', ')})
      <> (${usageSums.map((sum) => `coalesce(h.${sum}, 0)`).join(', ')})
  union all
  select ${key}, u.requests, r.requests
    from (select * from durations_hourly where hour >= ${splitFrom}) u
    full join (select ${timedRequests} from requests r
                where r.ts >= ${splitFrom} and r.record ->> 'outcome' = 'completed' group by 1, 2, 3, 4, 5, 6) r
      using (${key}, provider, class)
   where coalesce(u.requests, 0) <> coalesce(r.requests, 0)`

const ofHour = `organization_id = s.organization_id and api_key_id = s.api_key_id and model = s.model and hour = s.hour`
const requestsOfHour = `requests r
  where r.organization_id = s.organization_id and r.api_key_id = s.api_key_id
    and r.ts >= s.hour and r.ts < s.hour + interval '1 hour'
    and coalesce(r.record ->> 'modelRan', r.record ->> 'modelAsked') = s.model`

/**
 * Whether the sums by provider of one row `s` of usage differ from it. An unverified one is recalculated from its requests, with
 * its durations; the row's columns are those of `usage_hourly`.
 */
export const isSplitOtherwiseOfHour = `(s.hour >= (select at from usage_since) and case when s.is_doubted then
  exists (select from (select * from usage_by_provider where ${ofHour}) u
            full join (select ${splitRequests} from ${requestsOfHour} group by 1, 2, 3, 4, 5) r using (${key}, provider)
           where ${isSplitOtherwise})
  or exists (select from (select * from durations_hourly where ${ofHour}) u
               full join (select ${timedRequests} from ${requestsOfHour} and r.record ->> 'outcome' = 'completed'
                           group by 1, 2, 3, 4, 5, 6) r using (${key}, provider, class)
              where coalesce(u.requests, 0) <> coalesce(r.requests, 0))
  else exists (select from (select ${sums.map((sum) => `coalesce(sum(${sum}), 0) as ${sum}`).join(', ')}
                              from usage_by_provider where ${ofHour}) u
                where ${usageSums.map((sum) => `u.${sum} <> s.${sum}`).join(' or ')})
  end)`
