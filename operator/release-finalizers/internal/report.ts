import type { LiveKey } from './live-keys.ts'
import type { Release } from './release.ts'

/**
 * What people are told when finalizers were taken off. Pure.
 *
 * @param live what the database says; a sentence: why it does not.
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
  'An operator that starts later blocks the keys whose ApiKey it does not find, and says so. To revoke a key now: npm run revoke -- KEY_ID'

function knownKeys(live: readonly LiveKey[]): readonly string[] {
  if (live.length === 0) return ['No key of an ApiKey works any more.']
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
    `${why}. Take each of these keys for one that works:`,
    ...named.map(
      ({ namespace, name, keyId, visible }) => `  ${namespace}/${name}: key ${keyId} (${visible})`,
    ),
    later,
  ]
}
