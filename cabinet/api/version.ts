import { createHash } from 'node:crypto'

/** The version of an answer, for its `ETag`: another text has another one. */
export function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
