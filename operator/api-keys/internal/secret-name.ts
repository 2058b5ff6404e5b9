import { createHash } from 'node:crypto'

/** Longest name of a Secret: a DNS subdomain, RFC 1123. */
const nameLengthMax = 253
const ending = '-apikey'
/** 64 bits: keeps two names apart that are cut at the same place. */
const digestLength = 16

/**
 * The name of the Secret if the ApiKey sets none: `<name>-apikey`.
 *
 * If that is too long, the end of the name is replaced by a digest of the whole name: always valid, and always the same
 * for the same name.
 */
export function defaultSecretName(keyName: string): string {
  if (keyName.length + ending.length <= nameLengthMax) return keyName + ending
  const digest = createHash('sha256').update(keyName).digest('hex').slice(0, digestLength)
  const start = keyName.slice(0, nameLengthMax - ending.length - digest.length - 1)
  return `${start.replace(/[-.]+$/, '')}-${digest}${ending}`
}
