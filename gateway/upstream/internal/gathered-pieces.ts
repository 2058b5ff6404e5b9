/** Pieces kept apart until they are put together, each of which may hold on to the whole read that it was cut from. */
const looseMax = 64
/** Length of pieces from which they are put together at once: V8 never moves texts as long, and copies shorter ones twice. */
const looseLengthMax = 256 * 1024

/**
 * Pieces of a text or of bytes, put together once it is whole. Their memory is that of what they say, in however many
 * pieces it comes: a provider that sends byte by byte would else cost a hundred bytes for each.
 */
export type GatheredPieces<Piece> = {
  add(piece: Piece): void
  /** Everything added so far; empties it. */
  take(): Piece
}

export function gatherPieces<Piece extends { readonly length: number }>(
  join: (pieces: readonly Piece[]) => Piece,
): GatheredPieces<Piece> {
  let joined: Piece[] = []
  let loose: Piece[] = []
  let looseLength = 0
  return {
    add(piece) {
      loose.push(piece)
      looseLength += piece.length
      if (loose.length < looseMax && looseLength < looseLengthMax) return
      joined.push(join(loose))
      loose = []
      looseLength = 0
    },
    take() {
      const all = [...joined, ...loose]
      joined = []
      loose = []
      looseLength = 0
      const [only] = all
      return all.length === 1 && only !== undefined ? only : join(all)
    },
  }
}
