import { createHash } from 'node:crypto'

/** The version of a response, for its `ETag`. It changes with the text. */
export function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22)
}
