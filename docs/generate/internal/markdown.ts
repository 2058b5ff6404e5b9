/** A table; a `|` within a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(rowOf).join('\n')
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|').replaceAll(/\s*\n\s*/g, ' ')).join(' | ')} |`
}

/** A page of parts with an empty line between them. */
export function page(...parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}

export const code = (text: string) => `\`${text}\``
