import { type Challenge, solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/web/pbkdf2'
import type { ApiProblem } from './problem.ts'

/**
 * What a page solves in the background: 5 s on a desktop, half a minute on a phone. Harder challenges occur only where
 * a password reset is faster, and the page reports that.
 */
const workMax = 50
const solvingMsMax = 90_000

/**
 * The header that answers a challenge; `undefined` if there is none, or it is too hard. The browser computes it off the
 * page's thread.
 */
export async function proofFor(
  { code, facts }: ApiProblem,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (code !== 'proof_of_work_required') return undefined
  const challenge = facts.challenge as Challenge
  if (Number(challenge.parameters.data?.work) > workMax) return undefined
  const controller = new AbortController()
  const abort = () => controller.abort()
  signal?.addEventListener('abort', abort)
  const solution = await solveChallenge({ challenge, deriveKey, controller, timeout: solvingMsMax })
  signal?.removeEventListener('abort', abort)
  return solution === null ? undefined : btoa(JSON.stringify({ challenge, solution }))
}
