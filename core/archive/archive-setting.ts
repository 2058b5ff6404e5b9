import { z } from 'zod'

/**
 * URL of ClickHouse's HTTP interface, with user, password and database. Without it nothing is archived.
 */
export const clickHouseUrlSetting = z
  .url({
    protocol: /^https?$/,
    error:
      'must be an http:// or https:// URL with a database, such as https://user:password@host:8443/database',
  })
  .refine((url) => !URL.canParse(url) || /^\/[^/]+\/?$/.test(new URL(url).pathname), {
    error: 'must name a database, such as https://user:password@host:8443/database',
  })

/** Fewer days would leave months that new requests and corrections may still belong to. */
const keptDaysMin = 35

/** Days that requests stay in Postgres after their partition has ended. */
export const keptDaysSetting = z
  .string()
  .regex(/^[0-9]{1,5}$/, { error: 'must be a whole number of days' })
  .transform(Number)
  .refine((days) => days >= keptDaysMin, { error: `must be at least ${keptDaysMin} days` })
