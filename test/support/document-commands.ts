/** A fenced or indented block of commands or code that a reader is to run. */
export type Block = {
  readonly document: string
  /** The last heading of the second level above it; empty: none. */
  readonly section: string
  readonly language: 'sh' | 'python' | 'js'
  readonly text: string
}

/** Languages of blocks that are run; the others show data, code of this repository or a diagram. */
const languages = { sh: 'sh', bash: 'sh', python: 'python', js: 'js' } as const

const isRunnable = (language: string): language is keyof typeof languages => language in languages

/** The blocks of a document, in order. A list's continuation lines are no block, unless they are fenced. */
export function blocksOf(document: string, source: string): readonly Block[] {
  const blocks: Block[] = []
  let section = ''
  const block =
    /^## (?<heading>.*)$|^(?<indent> *)```(?<language>\w*)\n(?<fenced>[\s\S]*?)^\k<indent>```$|(?<=\n\n)(?<indented>(?: {4}\S.*\n)+)/gm
  for (const { groups = {} } of source.matchAll(block)) {
    const { heading, language = 'sh', fenced, indented } = groups
    if (heading !== undefined) section = heading
    const text = fenced ?? indented?.replaceAll(/^ {4}/gm, '')
    if (text !== undefined && isRunnable(language))
      blocks.push({ document, section, language: languages[language], text })
  }
  return blocks
}

/** The command lines of a block of shell, without comments. */
export function commandsOf(text: string): readonly string[] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/(?:^|\s)#\s.*$/, '').trim())
    .filter((line) => line !== '')
}
