import type { Locale } from '../../../api/access.ts'
import type { ProblemCode } from '../../../api/problem.ts'
import { addressIn } from '../../../pages/public-addresses.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Where the documentation is, without a slash at its end; `undefined`: this process does not know. */
    docsOrigin: string | undefined
  }
}

/** The address that explains a problem in a language. Pure. */
export function docUrlOf(
  code: ProblemCode,
  locale: Locale,
  docsOrigin: string | undefined,
): string | undefined {
  if (docsOrigin === undefined) return undefined
  return `${docsOrigin}${addressIn(locale, '/docs/cabinet-errors')}#${code}`
}
