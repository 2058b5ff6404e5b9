import type { Block, Turn } from './request-shape.ts'

/** A block, and its place in the request: `messages.2.content.0`. */
type PlacedBlock = { readonly block: Block; readonly at: string }

/** Consecutive turns of one role, which the API reads as one. */
export type MergedTurn = {
  readonly role: string
  /** Of the first of them. */
  readonly index: number
  readonly blocks: readonly PlacedBlock[]
}

export function blocksOf({ content }: Turn): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

export function mergeTurns(turns: readonly Turn[]): readonly MergedTurn[] {
  const merged: MergedTurn[] = []
  for (const [index, turn] of turns.entries()) {
    const blocks = blocksOf(turn).map((block, place) => ({ block, at: `messages.${index}.content.${place}` }))
    const before = merged.at(-1)
    if (before?.role === turn.role)
      merged[merged.length - 1] = { ...before, blocks: [...before.blocks, ...blocks] }
    else merged.push({ role: turn.role, index, blocks })
  }
  return merged
}

/** The blocks of turns, and those inside results of tools: `messages.2.content.0.tool_result.content.1`. */
export function nestedBlocks(turns: readonly Turn[]): readonly PlacedBlock[] {
  return mergeTurns(turns).flatMap(({ blocks }) => blocks.flatMap(withInner))
}

function withInner(placed: PlacedBlock): readonly PlacedBlock[] {
  const { block, at } = placed
  if (block.type !== 'tool_result' || !Array.isArray(block.content)) return [placed]
  const inner: readonly Block[] = block.content
  return [placed, ...inner.map((part, place) => ({ block: part, at: `${at}.tool_result.content.${place}` }))]
}
