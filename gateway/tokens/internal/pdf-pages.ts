import { getDocumentProxy } from 'unpdf'

/**
 * The pages of a PDF; `null` if it cannot be read without guessing, since its provider may guess otherwise.
 */
export async function pagesOf(bytes: Buffer): Promise<number | null> {
  try {
    const document = await getDocumentProxy(new Uint8Array(bytes), { stopAtErrors: true, verbosity: 0 })
    const { numPages } = document
    await document.loadingTask.destroy()
    return numPages
  } catch {
    return null
  }
}
