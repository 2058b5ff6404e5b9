import type { LiveKey } from './live-keys.ts'
import type { Release } from './release.ts'

/**
 * The output after finalizers were removed. Pure.
 *
 * @param live the keys in the database, or a sentence that explains why they are unknown.
 */
export function reportOf(releases: readonly Release[], live: readonly LiveKey[] | string): string {
  const failed = releases.filter(({ failure }) => failure !== undefined)
  return [
    `Took the operator's finalizer off ${releases.length - failed.length} of ${releases.length} ApiKeys.`,
    ...failed.map((release) => `  ${release.namespace}/${release.name}: ${release.failure}`),
    ...(typeof live === 'string' ? unknownKeys(releases, live) : knownKeys(live)),
    '',
  ].join('\n')
}

const later =
  'The next operator to start blocks and reports keys whose ApiKey it cannot find. To revoke a key now: npm run revoke -- KEY_ID'

function knownKeys(live: readonly LiveKey[]): readonly string[] {
  if (live.length === 0) return ['No key of an ApiKey works anymore.']
  return [
    'These keys of ApiKeys may still be used:',
    ...live.map((key) => `  ${key.namespace}/${key.name}: key ${key.keyId} (${key.visible}) ${key.state}`),
    later,
  ]
}

function unknownKeys(releases: readonly Release[], why: string): readonly string[] {
  const named = releases.filter(({ keyId }) => keyId !== undefined)
  if (named.length === 0) return [`${why}. No released ApiKey names a key.`]
  return [
    `${why}. Assume that each of these keys still works:`,
    ...named.map(
      ({ namespace, name, keyId, visible }) => `  ${namespace}/${name}: key ${keyId} (${visible})`,
    ),
    later,
  ]
}
