import type { Refusal } from '#core/errors/refusal'
import { invalidValue } from '../wire/errors.ts'

/** Largest image that is fetched, in bytes: 20 MiB, as much as Gemini takes inline (ai.google.dev, 2026-11). */
export const imageBytesMax = 20 * 1024 * 1024
/** Different URLs that one request may have: some 5 rounds of fetches, within one attempt's time. */
export const imagesMax = 20
/** All fetched images of one request, in bytes: three of the largest. */
export const allImagesBytesMax = 64 * 1024 * 1024

/** In UTF-16 units: what common servers read of a request line (nginx, `large_client_header_buffers`: 8 KiB). */
export const imageUrlLengthMax = 8192

const mebibyte = 1024 * 1024
const orSendBytes = 'or send the image as a base64 data URL'

/** Why an image cannot be used. Each text continues a sentence that begins with the name of its field. */
const problemTexts = {
  url_invalid: `must be an http or https URL of at most ${imageUrlLengthMax} characters, or a base64 data URL`,
  url_credentials: `must not contain a user name or password. Use a public or pre-signed URL, ${orSendBytes}`,
  address_not_public: `cannot be fetched: its host has no public IP address. Use a URL that is reachable from the internet, ${orSendBytes}`,
  connect_failed: `cannot be fetched: its server does not accept connections. Check the URL, ${orSendBytes}`,
  tls_failed: `cannot be fetched: its server has no valid TLS certificate, or does not support TLS. Use another server, ${orSendBytes}`,
  http_invalid: `cannot be fetched: its server did not return valid HTTP. Check the URL, ${orSendBytes}`,
  redirected: `cannot be fetched: its server returned a redirect, and redirects are not followed. Use the URL that it redirects to, ${orSendBytes}`,
  compressed: `cannot be read: its server returned it with a Content-Encoding. Use a server that does not compress images, ${orSendBytes}`,
  empty: `is empty: its server returned no bytes. Check the URL, ${orSendBytes}`,
  not_an_image: `is not a PNG, JPEG, WebP, GIF, HEIC or HEIF image. Check that the URL leads to the image itself, and not to a web page`,
  too_large: `is larger than ${imageBytesMax / mebibyte} MiB. Use a smaller image`,
  incomplete: `cannot be fetched: the connection to its server was closed before the image was complete. Retry, ${orSendBytes}`,
  too_slow: `cannot be fetched: its server sends too slowly. Use a faster server, ${orSendBytes}`,
  timeout: `cannot be fetched: it was not complete when the time of the request ended. Use a smaller image or a faster server, ${orSendBytes}`,
  too_many: `cannot be fetched: a request may have at most ${imagesMax} different image URLs. Remove some, ${orSendBytes}`,
  all_too_large: `cannot be fetched: the images of a request may have at most ${allImagesBytesMax / mebibyte} MiB in total. Use fewer or smaller images`,
  canceled: 'was not fetched: the request was canceled',
} as const

export type ImageProblemReason = keyof typeof problemTexts

/** An image that cannot be used. */
export type ImageProblem =
  | { readonly outcome: 'failed'; readonly reason: ImageProblemReason }
  /** Its server returned an error, or no image. */
  | { readonly outcome: 'failed'; readonly reason: 'status_not_ok'; readonly status: number }
  /** The memory for bodies is full. */
  | { readonly outcome: 'failed'; readonly reason: 'no_memory'; readonly refusal: Refusal }

/** The response to a request with such an image: 400, unless the memory for bodies is full. */
export function refusalOfImage(param: string, problem: ImageProblem): Refusal {
  if (problem.reason === 'no_memory') return problem.refusal
  return invalidValue(
    param,
    problem.reason === 'status_not_ok' ? statusText(problem.status) : problemTexts[problem.reason],
  )
}

function statusText(status: number): string {
  return `cannot be fetched: its server returned status ${status}. Check that the URL is public and has not expired, ${orSendBytes}`
}

/** A problem for this reason. */
export function imageProblem(reason: ImageProblemReason): ImageProblem {
  return { outcome: 'failed', reason }
}
