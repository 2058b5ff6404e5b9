import type { ImageMediaType } from '../../wire/image-type.ts'
import type { Text } from '../../wire/long-text.ts'
import type { ImageProblem } from '../image-problem.ts'

/** An image, as it is sent to a provider. */
export type FetchedImage = {
  readonly outcome: 'fetched'
  /** Detected from its bytes. */
  readonly mediaType: ImageMediaType
  /** In pieces if it is long: `json-writer.ts` writes it in turns. */
  readonly base64: Text
  /** Memory that is counted as held for it until its owner releases it. */
  readonly heldBytes: number
}

/** The memory that images may take. */
export type HeldBytes = {
  /** Counts them, whether they fit or not. The problem, if they do not. */
  hold(bytes: number): ImageProblem | undefined
  release(bytes: number): void
}
