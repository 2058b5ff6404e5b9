import type { ScopedClient } from '#core/audit/scope'

/**
 * Lets the administrators' changes of the catalog happen one after the other, until the transaction ends: what was
 * checked about models and providers is then still so when the change is written.
 */
export async function holdCatalog(client: ScopedClient): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtext('model_gateway catalog of administrators'))")
}
