import { call, newIdempotencyKey } from '../../api/call.ts'

/** The playground's key, kept only in the memory of this page. */
export type PlaygroundKey = {
  /** Creates a key if there is none. @throws ApiProblem */
  secret(): Promise<string>
  /** Drops a key that no longer works: the next call creates another. */
  forget(): void
}

export function createPlaygroundKey(): PlaygroundKey {
  let made: Promise<string> | undefined
  return {
    secret() {
      made ??= makeKey().catch((error: unknown) => {
        made = undefined
        throw error
      })
      return made
    },
    forget() {
      made = undefined
    },
  }
}

/** Only the first response contains the secret; if that response was lost, another key is created. */
async function makeKey(): Promise<string> {
  const { secret } = await call('POST /playground-keys', { idempotencyKey: newIdempotencyKey() })
  return secret ?? makeKey()
}
