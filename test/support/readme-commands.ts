import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Block, blocksOf } from './document-commands.ts'

/** The shell commands of a section of a document, one text per block; of the root README by default. */
export function shellBlocksOf(section: string, file = 'README.md'): readonly string[] {
  return blocksOfSection(section, file, 'sh')
}

/** The blocks of a section of a document in a language. */
export function blocksOfSection(
  section: string,
  file: string,
  language: Block['language'],
): readonly string[] {
  return blocksOf(file, readFileSync(join(import.meta.dirname, '../..', file), 'utf8'))
    .filter((block) => block.section === section && block.language === language)
    .map(({ text }) => text)
}

/** The YAML in a section of a text, a block each. */
export function yamlBlocksOf(section: string, file: string): readonly string[] {
  const [, text = ''] = readFileSync(join(import.meta.dirname, '../..', file), 'utf8').split(
    `\n## ${section}\n`,
  )
  const [before = ''] = text.split('\n## ')
  return [...before.matchAll(/^```yaml\n(.+?)^```$/gms)].map(([, block = '']) => block)
}
