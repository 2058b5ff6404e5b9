import { type ArchiveStore, openArchive } from '#core/archive/archive-store'

/** As for a statement of Postgres: shorter than the 5 s that a gateway waits for a receipt. */
const timeoutMs = 3_000

/** The archive that a process reads older requests from; `undefined`: it has no URL of one. */
export function openArchiveOf(config: {
  readonly clickHouseUrl: string | undefined
}): ArchiveStore | undefined {
  return config.clickHouseUrl === undefined ? undefined : openArchive(config.clickHouseUrl, { timeoutMs })
}
