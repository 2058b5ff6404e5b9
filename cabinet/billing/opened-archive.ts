import { type ArchiveStore, openArchive } from '#core/archive/archive-store'
import type { Log } from '#core/process/log'

/** As for a statement of Postgres: shorter than the 5 s that a gateway waits for a receipt. */
const timeoutMs = 3_000

/** The archive that a process reads older requests from; `undefined`: it has no URL of one. */
export function openArchiveOf(
  { clickHouseUrl }: { readonly clickHouseUrl: string | undefined },
  log: Log,
): ArchiveStore | undefined {
  if (clickHouseUrl === undefined) return undefined
  const onError = ({ message }: Error) => log.warn({ error: message }, 'older requests are unavailable')
  return openArchive(clickHouseUrl, { timeoutMs, onError })
}
