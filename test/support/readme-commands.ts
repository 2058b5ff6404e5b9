import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The shell commands of a section of a document, one text per block; of the root README by default. */
export function shellBlocksOf(section: string, file = 'README.md'): readonly string[] {
  const readme = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
  const [, text = ''] = readme.split(`\n## ${section}\n`)
  const [before = ''] = text.split('\n## ')
  return [...before.matchAll(/^```sh\n(.+?)^```$/gms)].map(([, block = '']) => block)
}
