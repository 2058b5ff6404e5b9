/** Why a Markdown file cannot be a page; `line` counts from 1. */
export type DocFault = { readonly line: number; readonly reason: string }

/**
 * The first broken table of a Markdown text: without a line of dashes below its head, or with a row of another number
 * of cells. Markdown would show both as text, or lose cells. Pure.
 */
export function findBrokenTable(markdown: string): DocFault | undefined {
  let isCode = false
  let head: number | undefined
  let place = 0
  for (const [index, line] of markdown.split('\n').entries()) {
    if (line.startsWith('```')) isCode = !isCode
    if (isCode || !line.startsWith('|')) {
      if (place === 1) return { line: index, reason: 'a table without a line of dashes below its head' }
      head = undefined
      place = 0
      continue
    }
    const cells = cellsOf(line)
    if (place === 1 && !/^\|(?: *:?-+:? *\|)+ *$/.test(line))
      return { line: index + 1, reason: 'a table without a line of dashes below its head' }
    if (head !== undefined && cells !== head)
      return { line: index + 1, reason: `a row of ${cells} cells in a table of ${head}` }
    head ??= cells
    place += 1
  }
  return undefined
}

/** A `|` after a backslash is text. */
function cellsOf(line: string): number {
  return (line.trimEnd().match(/(?<!\\)\|/g)?.length ?? 0) - 1
}
