/**
 * The bar under a point `x` pixels from the left end of `count` bars that fill `width`; for a point outside, the
 * nearest. Pure.
 */
export function barAt(x: number, width: number, count: number): number {
  return within(Math.floor((x / width) * count), count)
}

/**
 * The bar that a slider key leads to; `undefined`: the key does not move a slider. With none chosen, arrows come in
 * from the ends. Pure.
 */
export function barByKey(key: string, chosen: number | undefined, count: number): number | undefined {
  const page = Math.max(1, Math.round(count / 10))
  const from = { before: chosen ?? count, after: chosen ?? -1 }
  switch (key) {
    case 'Home':
      return 0
    case 'End':
      return count - 1
    case 'ArrowLeft':
    case 'ArrowDown':
      return within(from.before - 1, count)
    case 'ArrowRight':
    case 'ArrowUp':
      return within(from.after + 1, count)
    case 'PageDown':
      return within(from.before - page, count)
    case 'PageUp':
      return within(from.after + page, count)
    default:
      return undefined
  }
}

const within = (index: number, count: number) => Math.min(count - 1, Math.max(0, index))
