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
