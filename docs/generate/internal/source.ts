import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')

export function readSource(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** What the comment above each property of the objects in a file states: name → text. */
export function propertyComments(path: string): ReadonlyMap<string, string> {
  const commented = readSource(path).matchAll(/^ *\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n +(\w+):/gm)
  return new Map(
    [...commented].map(([, comment = '', name = '']) => [
      name,
      comment.replaceAll(/\s*\n\s*\*?\s*/g, ' ').trim(),
    ]),
  )
}
