import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The commands for a shell in a section of a README, a block each; of the root README unless said. */
export function shellBlocksOf(section: string, file = 'README.md'): readonly string[] {
  const readme = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
  const [, text = ''] = readme.split(`\n## ${section}\n`)
  const [before = ''] = text.split('\n## ')
  return [...before.matchAll(/^```sh\n(.+?)^```$/gms)].map(([, block = '']) => block)
}
