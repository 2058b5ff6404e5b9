/** Numbers in [0, 1) that the same seed gives again in the same order (mulberry32). Not for secrets. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number from `least` to `most`, both included. */
export function drawWhole(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1))
}

/** One of the choices, with a frequency by its weight. */
export function drawWeighted<const Choice extends string>(
  random: () => number,
  weights: Readonly<Record<Choice, number>>,
): Choice {
  const choices = Object.entries<number>(weights) as [Choice, number][]
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [choice, weight] of choices) {
    left -= weight
    if (left < 0) return choice
  }
  throw new Error('no weight is above 0')
}
