import type { Queryable } from '#core/db/pool'

/** Records where users reach the cabinet, for emails that other processes write. Only the customers' process may. */
export async function noteCabinetAddress(client: Queryable, url: string): Promise<void> {
  await client.query(
    `insert into cabinet_address as known (url) values ($1)
     on conflict (only_row) do update set url = excluded.url where known.url <> excluded.url`,
    [url],
  )
}

/** Where users reach the cabinet, without a slash at its end; `undefined` until the cabinet has started once. */
export async function findCabinetAddress(client: Queryable): Promise<string | undefined> {
  const { rows } = await client.query<{ url: string }>('select url from cabinet_address')
  return rows[0]?.url
}

/** A link into the cabinet, as a variable of an email; none until the cabinet has noted its address. */
export async function linkTo(client: Queryable, path: string): Promise<{ readonly link?: string }> {
  const address = await findCabinetAddress(client)
  return address === undefined ? {} : { link: `${address}${path}` }
}
