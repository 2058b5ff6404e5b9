import { call, newIdempotencyKey } from '../../api/call.ts'

/** The playground's own key, in the memory of this page alone. */
export type PlaygroundKey = {
  /** Makes one where there is none. @throws ApiProblem */
  secret(): Promise<string>
  /** It does not work any more: the next one is another. */
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

/** Only the first answer has the secret; where it got lost on the way, another key is made. */
async function makeKey(): Promise<string> {
  const { secret } = await call('POST /playground-keys', { idempotencyKey: newIdempotencyKey() })
  return secret ?? makeKey()
}
