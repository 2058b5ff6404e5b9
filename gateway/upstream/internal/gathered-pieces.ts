/** Pieces kept apart until they are put together, each of which may hold on to the whole read that it was cut from. */
const looseMax = 64

/**
 * Pieces of a text or of bytes, put together once it is whole. Their memory is that of what they say, in however many
 * pieces it comes: a provider that sends byte by byte would else cost a hundred bytes for each.
 */
export type GatheredPieces<Piece> = {
  add(piece: Piece): void
  /** Everything added so far; empties it. */
  take(): Piece
}

export function gatherPieces<Piece>(join: (pieces: readonly Piece[]) => Piece): GatheredPieces<Piece> {
  let joined: Piece[] = []
  let loose: Piece[] = []
  return {
    add(piece) {
      loose.push(piece)
      if (loose.length < looseMax) return
      joined.push(join(loose))
      loose = []
    },
    take() {
      const all = [...joined, ...loose]
      joined = []
      loose = []
      const [only] = all
      return all.length === 1 && only !== undefined ? only : join(all)
    },
  }
}
