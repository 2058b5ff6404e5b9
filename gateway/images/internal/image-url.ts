import { type ImageProblem, imageProblem, imageUrlLengthMax } from '../image-problem.ts'

/** The URL of an image as it is requested, or why it is not. Pure. */
export function parseImageUrl(text: string): URL | ImageProblem {
  const url = text.length > imageUrlLengthMax ? null : URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return imageProblem('url_invalid')
  return url.username !== '' || url.password !== '' ? imageProblem('url_credentials') : url
}
