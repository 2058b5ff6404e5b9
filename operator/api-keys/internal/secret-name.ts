import { createHash } from 'node:crypto'

/** Longest name of a Secret: a DNS subdomain, RFC 1123. */
const nameLengthMax = 253
const ending = '-apikey'
/** 64 bits: two of a cluster's names that are cut at the same place stay apart. */
const digestLength = 16

/**
 * The name of the Secret of an ApiKey that names none: `<name>-apikey`.
 *
 * Where that is too long, the name is cut and a digest of the whole of it takes the place of the rest: always valid,
 * always the same for the same name.
 */
export function defaultSecretName(keyName: string): string {
  if (keyName.length + ending.length <= nameLengthMax) return keyName + ending
  const digest = createHash('sha256').update(keyName).digest('hex').slice(0, digestLength)
  const start = keyName.slice(0, nameLengthMax - ending.length - digest.length - 1)
  return `${start.replace(/[-.]+$/, '')}-${digest}${ending}`
}
