import type { Text } from '../../../../wire/long-text.ts'
import { type Failure, failureOfRequest } from '../../../failure.ts'
import { createToolNames, type ToolNames } from '../../tool-names.ts'

/** The writing of one request: what its parts need of each other, and the first problem in it. */
export type Writing = {
  readonly names: ToolNames
  /** Images of which only the URL is known, whose data must still be filled in. */
  readonly missingImages: MissingImage[]
  failure: Failure | undefined
}

/** Gemini's `inlineData`. */
export type Blob = { mimeType: string; data: Text }
type MissingImage = { readonly url: string; readonly param: string; readonly blob: Blob }

/** https://ai.google.dev/api/caching#FunctionDeclaration, and the words of its rejection. */
const nameRule = { pattern: /[\w.:-]/, firstPattern: /[A-Za-z_]/, lengthMax: 64 }

/** @param functions names of the request's functions. */
export function createWriting(functions: readonly string[]): Writing {
  return { names: createToolNames(functions, nameRule), missingImages: [], failure: undefined }
}

/** Notes that the API cannot express a field. Writing goes on, for nothing: only the first problem is reported. */
export function reject(writing: Writing, param: string, problem: string): void {
  writing.failure ??= failureOfRequest(param, problem)
}
